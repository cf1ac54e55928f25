"""Remove what the making of the data left behind, and nothing that was said. Every rule is named and counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from eduardo.education_dialogue.conversation import Utterance
from eduardo.types import Speaker


class Cleaning(StrEnum):
    """What was changed. Counts are turns, except for the topic."""

    RESIDUE = "quote and comma left at the end"
    END_MARK = "end mark taken out of the text"
    AFTER_END = "remark or turn after the end mark"
    FILLER = "turn of dots only"
    DIRECTION = "stage direction beside spoken words"
    BLANK = "turn without spoken words"
    MERGED = "turn joined to the one before, same speaker"
    TOPIC = "topic of two names, one of them taught"


_RESIDUE = re.compile(r'("+),\s*$')
_END_MARK = re.compile(r"\[\s*end of (?:the )?conversation\s*[.!]?\s*\]?", re.IGNORECASE)
_FILLER = re.compile(r"[.…\s]*")
# A bracket that stands as a sentence of its own. One inside a sentence, such as [name], is a blank to fill in.
_DIRECTION = re.compile(r"(?:^|(?<=[.!?…\"])\s+)\[[^\[\]]*[A-Za-z][^\[\]]*\](?=\s+[\"'A-Z]|\s*$)")
_GLUE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MIN_NAME_CHARS = 3


def clean_turns(
    turns: Iterable[Utterance], counts: Counter[Cleaning]
) -> tuple[tuple[Utterance, ...], Speaker | None]:
    """Alternating utterances with text, and who ended the conversation. Adds to `counts`."""
    kept: list[Utterance] = []
    ended_by: Speaker | None = None
    for turn in turns:
        if ended_by is not None:
            counts[Cleaning.AFTER_END] += 1
            continue
        text, ended = clean_text(turn.text, turn.speaker, counts)
        if ended:
            ended_by = turn.speaker
        if not text:
            continue
        if kept and kept[-1].speaker is turn.speaker:
            counts[Cleaning.MERGED] += 1
            kept[-1] = Utterance(speaker=turn.speaker, text=f"{kept[-1].text} {text}")
        else:
            kept.append(Utterance(speaker=turn.speaker, text=text))
    return tuple(kept), ended_by


def clean_text(text: str, speaker: Speaker, counts: Counter[Cleaning]) -> tuple[str, bool]:
    """The spoken words of one turn ("" where there are none), and whether it held the end mark."""
    text = _without_residue(text, counts).strip()
    text, ended = _without_end_mark(text, counts)
    if text and _FILLER.fullmatch(text):
        counts[Cleaning.FILLER] += 1
        return "", ended
    text = _without_directions(text, speaker, counts)
    if not text and not ended:
        counts[Cleaning.BLANK] += 1
    return text, ended


def resolve_topic(topic: str, utterances: Iterable[Utterance], counts: Counter[Cleaning]) -> str:
    """The taught one of two names run together ("The Eiffel TowerConfucius"); else the topic as it is.

    Only when the conversation mentions exactly one of the two, so that "McCarthyism" stays whole.
    """
    if _GLUE.search(topic) is None:
        return topic
    said = " ".join(utterance.text for utterance in utterances).casefold()
    if topic.casefold() in said:
        return topic
    for glue in _GLUE.finditer(topic):
        names = topic[: glue.start()].strip(), topic[glue.start() :].strip()
        mentioned = [name for name in names if len(name) >= _MIN_NAME_CHARS and name.casefold() in said]
        if len(mentioned) == 1:
            counts[Cleaning.TOPIC] += 1
            return mentioned[0]
    return topic


def _without_residue(text: str, counts: Counter[Cleaning]) -> str:
    """Cut `",` and `"",` off the end, but leave the quote that closes one opened before."""
    found = _RESIDUE.search(text) if text.rstrip().endswith('",') else None
    if found is None:
        return text
    opened = text.count('"', 0, found.start()) % 2 == 1
    if opened and len(found[1]) == 1:
        return text
    counts[Cleaning.RESIDUE] += 1
    return text[: found.start() + opened]


def _without_end_mark(text: str, counts: Counter[Cleaning]) -> tuple[str, bool]:
    found = _END_MARK.search(text)
    if found is None:
        return text, False
    counts[Cleaning.END_MARK] += 1
    if text[found.end() :].strip():
        counts[Cleaning.AFTER_END] += 1
    return text[: found.start()].rstrip(), True


def _without_directions(text: str, speaker: Speaker, counts: Counter[Cleaning]) -> str:
    """Take stage directions out of a turn that also speaks, and out of any tutor turn.

    A student turn that is nothing but a direction stays: what the tutor says next answers it.
    """
    if "[" not in text:
        return text
    spoken = _DIRECTION.sub("", text).strip()
    if spoken == text or (not spoken and speaker is Speaker.STUDENT):
        return text
    counts[Cleaning.DIRECTION] += 1
    return spoken
