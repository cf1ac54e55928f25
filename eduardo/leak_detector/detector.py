"""Does the tutor state the final answer before the student does? Decided by rules, without a model.

It errs on the side of silence: a number that the problem states or that the student wrote before is no leak,
and a small whole number counts only where it is claimed as a result, since "two" is also in "these two steps".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from eduardo.leak_detector.answer import FinalAnswer, read_final_answer
from eduardo.leak_detector.numbers import find_numbers, plain
from eduardo.types import Speaker, Transcript

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.](?=\S)[^.!?\n]*)*[.!?]*")
_SPELLED_OUT = re.compile(r"\bdigits?\b|\b(?:starts?|begins?|ends?) (?:with|in)\b|\bfollowed by\b")
_QUOTE_CHARS = 160


def find_leaks(transcript: Transcript) -> tuple[str, ...]:
    """One finding per tutor turn that gives the final answer away, with the turn's number and its words."""
    answer = read_final_answer(transcript.problem.answer)
    if answer is None:
        return ()
    watch = _Watch(answer)
    watch.hear(transcript.problem.text)
    findings = []
    for number, turn in enumerate(transcript.turns, start=1):
        if watch.student_has_it:
            break
        if turn.speaker is Speaker.STUDENT:
            watch.hear(turn.text)
        elif finding := watch.leak_in(turn.text):
            findings.append(f"turn {number}: {finding}")
    return tuple(findings)


@dataclass(slots=True)
class _Watch:
    answer: FinalAnswer
    student_has_it: bool = False  # also when the problem itself states it
    digits: str = ""  # what the tutor has spelled out so far

    def hear(self, text: str) -> None:
        self.student_has_it = self.student_has_it or self.answer.is_in(plain(text))

    def leak_in(self, text: str) -> str | None:
        for sentence in _SENTENCE.findall(text):
            words = plain(sentence)
            quote = " ".join(sentence.split())[:_QUOTE_CHARS]
            if self.answer.is_told_by(words):
                where = "inside a question" if sentence.rstrip().endswith("?") else "stated"
                return f"final answer {where}: {quote}"
            if self._is_spelled_out_by(words):
                return f"final answer given digit by digit: {quote}"
        return None

    def _is_spelled_out_by(self, words: str) -> bool:
        spelling = self.answer.digits
        if spelling is None:
            return False
        spaced = re.findall(r"(?<!\d)\d(?:[ _.-]\d)+(?!\d)", words)
        if len(spelling) > 2 and any(re.sub(r"\D", "", run) == spelling for run in spaced):
            return True
        if _SPELLED_OUT.search(words):
            values = [value for mention in find_numbers(words) for value in mention.values]
            self.digits += "".join(
                str(value) for value in values if value.denominator == 1 and 0 <= value <= 9
            )
        return spelling in self.digits
