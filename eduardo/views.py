"""What tutor, student, masked student and judge may see: pure functions from a transcript to chat messages.

Every view starts with an optional system message and then alternates user, assistant, user ..., ending with
user, since some chat templates and servers accept nothing else. Views show `Turn.text` only, so neither
thinking nor the end tag can reach anybody, and nothing in them spells a control token of a chat template.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from eduardo.control_tokens import broken_up, escaped
from eduardo.errors import UserError
from eduardo.personas import PLAIN, persona_text
from eduardo.templates import render
from eduardo.types import Criterion, Message, Problem, Speaker, Transcript, TransferPair, Turn

HIDDEN = "(hidden)"  # stands for a tutor turn in the masked post-test
SILENCE = "(no reply)"  # stands for a turn without visible text; servers refuse empty messages

_TUTOR_SYSTEM_PROMPTS = {"default": "tutor_system", "compact": "tutor_system_compact"}
# Line breaks that JSON leaves alone but that would split a turn over two lines.
_LINE_BREAKS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
_FENCE = re.compile(
    r"^=== transcript (?P<code>[0-9a-f]+) begins ===\n(?P<turns>.*?)\n=== transcript (?P=code) ends ===$",
    re.DOTALL | re.MULTILINE,
)


def opener(problem: Problem) -> Turn:
    """The scripted first student turn, which states the source problem."""
    return Turn(speaker=Speaker.STUDENT, text=render("opener", problem=problem.text))


def tutor_prompt(pair: TransferPair, style: str, *, end_tag: str) -> list[Message]:
    """The tutor's own chat before its first turn: system prompt and opener. `style`: default or compact."""
    if style not in _TUTOR_SYSTEM_PROMPTS:
        raise UserError(
            f"tutor prompt style {style!r} is unknown; use one of {', '.join(_TUTOR_SYSTEM_PROMPTS)}"
        )
    problem = pair.source.problem
    system = render(_TUTOR_SYSTEM_PROMPTS[style], problem=problem.text, notes=pair.notes, end_tag=end_tag)
    return [_message("system", system), _message("user", opener(problem).text)]


def student_view(transcript: Transcript, *, persona: str = PLAIN) -> list[Message]:
    """The student's chat: the student is `assistant`, the tutor is `user`.

    The opener is the student's own turn; a scripted greeting before it makes the chat begin with `user`.
    A persona belongs to the dialogue alone: tests are posed without it, so that they stay comparable.
    """
    chat = _student_chat(transcript, greeting=render("greeting"), mask_tutor=False)
    added = persona_text(persona)
    if not added:
        return chat
    return [_message("system", f"{chat[0]['content']}\n\n{added}"), *chat[1:]]


def post_test_view(transcript: Transcript, item: Problem, *, mask_tutor: bool) -> list[Message]:
    """The student's chat, then a turn that poses `item`; with `mask_tutor` all else of `user` is hidden.

    When the dialogue ended on a tutor turn, that turn and the post-test share one message.
    """
    greeting = HIDDEN if mask_tutor else render("greeting")
    chat = _student_chat(transcript, greeting=greeting, mask_tutor=mask_tutor)
    return broken_up(_append(chat, _message("user", render("post_test", problem=item.text))))


def cold_solve_view(problem: Problem) -> list[Message]:
    """The problem alone, for the student's solve rate without any tutoring."""
    return broken_up([_message("user", render("cold_solve", problem=problem.text))])


def judge_view(transcript: Transcript, criterion: Criterion) -> list[Message]:
    """The judge's chat on one criterion. Both criteria share all text up to the end of the transcript.

    Every turn is one JSON object on its own line, inside a fence whose code is derived from the content and
    occurs nowhere in it, so nothing inside can close the fence. `fenced_turns` reads it back.
    """
    return [
        _message("system", render("judge_system", silence=SILENCE)),
        _message("user", render(f"judge_{criterion.value}", **_material(transcript))),
    ]


def rubric_view(transcript: Transcript, rubric: str, *, last_turn_only: bool) -> list[Message]:
    """The rubric judge's chat on the tutor's last turn or on all of them, with the material of `judge_view`."""
    material = _material(transcript)
    return [
        _message("system", render("rubric_system", silence=SILENCE)),
        _message("user", render(f"rubric_{rubric}", **material, last_turn_only=last_turn_only)),
    ]


def fenced_turns(prompt: str) -> list[dict[str, str | int]]:
    """The turns (`turn`, `speaker`, `text`) in a rendered judge prompt. Raises ValueError without a fence."""
    fences = fenced_transcripts(prompt)
    if not fences:
        raise ValueError("the prompt holds no fenced transcript")
    return fences[0]


def fenced_transcripts(prompt: str) -> list[list[dict[str, str | int]]]:
    """The turns of every fence of a rendered judge prompt, in order. Raises ValueError for a broken one."""
    return [[json.loads(line) for line in fence["turns"].split("\n")] for fence in _FENCE.finditer(prompt)]


def turns_as_json(turns: Sequence[Turn]) -> str:
    """What goes into a fence: one JSON object per turn and line, so that no turn can look like two."""
    return "\n".join(
        as_one_line({"turn": number, "speaker": turn.speaker.value, "text": turn.text or SILENCE})
        for number, turn in enumerate(turns, start=1)
    )


def as_one_line(value: Mapping[str, str | int]) -> str:
    """JSON without any character that a reader could take for a line break, or a tokenizer for a control token."""
    return escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_LINE_BREAKS))


def fence_code(content: str) -> str:
    """A code that looks random, is the same for the same content and does not occur in it."""
    content = content.casefold()
    code = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    while code in content:
        code = hashlib.sha256(code.encode()).hexdigest()[:16]
    return code


def student_chat(
    system: str, turns: Sequence[Turn], *, greeting: str, mask_tutor: bool = False
) -> list[Message]:
    """A chat in which the student is `assistant`; `greeting` makes it begin with `user`."""
    chat = [_message("system", system), _message("user", greeting)]
    for turn in turns:
        text = turn.text or SILENCE
        if turn.speaker is Speaker.STUDENT:
            chat = _append(chat, _message("assistant", text))
        else:
            chat = _append(chat, _message("user", HIDDEN if mask_tutor else text))
    return broken_up(chat)


def _student_chat(transcript: Transcript, *, greeting: str, mask_tutor: bool) -> list[Message]:
    system = render("student_system", problem=transcript.problem.text)
    return student_chat(system, transcript.turns, greeting=greeting, mask_tutor=mask_tutor)


def _material(transcript: Transcript) -> dict[str, str]:
    """Problem, turns and fence code, as the judges' prompts take them."""
    problem_json = as_one_line({"problem": transcript.problem.text, "answer": transcript.problem.answer})
    turns_json = turns_as_json(transcript.turns)
    return {
        "problem_json": problem_json,
        "turns_json": turns_json,
        "code": fence_code(problem_json + turns_json),
    }


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _append(chat: list[Message], message: Message) -> list[Message]:
    """Add a message; one of the same role as the last is joined to it."""
    if chat[-1]["role"] != message["role"]:
        return [*chat, message]
    return [*chat[:-1], _message(message["role"], f"{chat[-1]['content']}\n\n{message['content']}")]
