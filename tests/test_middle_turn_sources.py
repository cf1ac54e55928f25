"""Moments of MathDial and Eedi: which turn is replaced, what comes before it, what is left out and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eduardo.errors import UserError
from eduardo.evaluation.middle_turn.answers import tutor_chat
from eduardo.evaluation.middle_turn.moments import Line, moments_of
from eduardo.evaluation.middle_turn.settings import DataSettings
from eduardo.evaluation.middle_turn.sources import NO_SOLUTION, read_moments
from eduardo.types import Problem, Speaker

MATHDIAL = Path(__file__).parent / "data" / "mathdial" / "sample.jsonl"
PROBLEM = Problem(text="What is 2 + 3?", answer="2 + 3 = 5")
T, S = Speaker.TUTOR, Speaker.STUDENT
TALK: list[Line] = [
    (T, "Hi"),
    (S, "6?"),
    (T, "Why?"),
    (S, "2 * 3"),
    (T, "Is it"),
    (T, "times?"),
    (S, "no"),
    (T, "So?"),
]


def settings(source: Path | str, **changes: Any) -> DataSettings:
    shipped = {
        "format": "mathdial",
        "split": "test",
        "revision": None,
        "every_turn": False,
        "num_moments": None,
    }
    return DataSettings(**{**shipped, "source": str(source), **changes})


def moments(lines: list[Line], *, every_turn: bool = False) -> list[tuple[str, int]]:
    found = moments_of("d", PROBLEM, lines, every_turn=every_turn, cluster="c")
    return [(moment.human, len(moment.history)) for moment in found]


def test_the_middle_tutor_turn_that_answers_the_student_is_replaced() -> None:
    assert moments(TALK) == [("Is it\ntimes?", 4)]


def test_every_such_turn_can_be_replaced_but_never_the_first_word() -> None:
    assert moments(TALK, every_turn=True) == [("Why?", 2), ("Is it\ntimes?", 4), ("So?", 6)]
    assert moments([(T, "Hi"), (S, "thanks")], every_turn=True) == []


def test_the_tutor_sees_its_own_prompt_the_opener_and_what_was_said() -> None:
    [moment] = moments_of("d", PROBLEM, TALK, every_turn=False, cluster="c")
    chat = tutor_chat(moment, style="default", sees_solution=False, end_tag="<end>")
    assert [message["role"] for message in chat] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert PROBLEM.text in chat[0]["content"] and PROBLEM.text in chat[1]["content"]
    assert [message["content"] for message in chat[2:]] == ["Hi", "6?", "Why?", "2 * 3"]
    assert PROBLEM.answer not in json.dumps(chat)
    seeing = tutor_chat(moment, style="default", sees_solution=True, end_tag="<end>")
    assert PROBLEM.answer in seeing[0]["content"]


def test_a_student_who_speaks_first_is_joined_to_the_opener() -> None:
    [moment] = moments_of("d", PROBLEM, [(S, "I got 6"), (T, "How?")], every_turn=False, cluster="c")
    chat = tutor_chat(moment, style="default", sees_solution=False, end_tag="<end>")
    assert [message["role"] for message in chat] == ["system", "user"]
    assert chat[-1]["content"].endswith("I got 6")


def test_real_mathdial_dialogues_lose_their_intent_marks_and_keep_named_students() -> None:
    found, left_out = read_moments(settings(MATHDIAL))
    assert (len(found), sum(left_out.values())) == (12, 0)
    texts = [turn.text for moment in found for turn in moment.history] + [moment.human for moment in found]
    assert not any(text.startswith(("(focus)", "(probing)", "(generic)", "(telling)")) for text in texts)
    assert all(moment.history[-1].speaker is S for moment in found)
    assert found[0].human.startswith("No, you need to add")
    assert len({moment.cluster for moment in found}) == 10  # two problems have two dialogues each


def test_a_limit_takes_the_first_ones() -> None:
    assert len(read_moments(settings(MATHDIAL, num_moments=3))[0]) == 3


def write_eedi(folder: Path, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    said = [(7, 3, 1, "What is a half?", 1), (7, 1, 1, "Hello", 1), (7, 2, 0, "stuck", 1), (8, 1, 0, "hm", 2)]
    names = ("InterventionId", "MessageSequence", "IsTutor", "MessageString", "QuestionId_DQ")
    messages = [dict(zip(names, row, strict=True)) for row in [*said, (9, 1, 0, "hello?", 1)]]
    questions = [
        {"QuestionId_DQ": 1, "Label": "Answer A Text", "Sequence": 1, "Text": "4"},
        {"QuestionId_DQ": 1, "Label": "Question Text", "Sequence": 2, "Text": "of 8?"},
        {"QuestionId_DQ": 1, "Label": "Question Text", "Sequence": 1, "Text": "What is half"},
        {"QuestionId_DQ": 2, "Label": "Answer A Text", "Sequence": 1, "Text": "3"},
    ]
    messages[0].update(changes)
    for name, rows in (("anchored-dialogues", messages), ("dq-question-metadata", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_eedi_messages_are_put_in_order_and_image_questions_left_out(tmp_path: Path) -> None:
    [moment], left_out = read_moments(settings(write_eedi(tmp_path / "eedi"), format="eedi"))
    assert moment.human == "What is a half?"
    assert [turn.text for turn in moment.history] == ["Hello", "stuck"]
    assert moment.problem == Problem(text="What is half of 8?\nA) 4", answer=NO_SOLUTION)
    assert left_out == {"its question is an image": 1, "no tutor turn that answers the student": 1}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"IsTutor": "yes"}, "anchored-dialogues.jsonl line 1: IsTutor is 'yes', not a number"),
     ({"QuestionId_DQ": None}, "anchored-dialogues.jsonl line 1: no column QuestionId_DQ")],
)  # fmt: skip
def test_a_bad_row_is_named(tmp_path: Path, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        read_moments(settings(write_eedi(tmp_path / "eedi", **changes), format="eedi"))


def test_a_conversation_without_speakers_is_named(tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps({"question": "q", "conversation": "no speaker here"}))
    with pytest.raises(UserError, match=r"odd.jsonl line 1: 'no speaker here' is no `Speaker: text`"):
        read_moments(settings(file))


def test_a_missing_file_and_a_folder_without_the_parts_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.jsonl: no file here"):
        read_moments(settings(tmp_path / "nowhere.jsonl"))
    with pytest.raises(UserError, match="no file here dq-question-metadata with one of"):
        read_moments(settings(tmp_path, format="eedi"))
