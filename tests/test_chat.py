"""A person in the dialogue, scripted through a pipe: the common loop, the common scorer, and the views on demand."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from eduardo.chat.command import main
from eduardo.chat.terminal import Ended, Quit, Terminal
from eduardo.classroom.problems import generate_pair, notes, templates
from eduardo.classroom.process import start
from eduardo.dataset.rows import to_row, write_rows
from eduardo.errors import UserError
from eduardo.records import read_dialogues
from eduardo.types import (
    Decision,
    EndReason,
    ItemKind,
    Problem,
    ScoredDialogue,
    SolveRate,
    TestItem,
    TransferPair,
)

pytestmark = pytest.mark.timeout(360)

SIM_PAIR = generate_pair(random.Random(3), templates("test")[0])
ANSWER, TEST_ANSWER = SIM_PAIR.source.answer, SIM_PAIR.variant.answer


def item(text: str, answer: str, kind: ItemKind) -> TestItem:
    rate = SolveRate(value=0.25, num_graded=16)
    return TestItem(problem=Problem(text=text, answer=answer), baseline=rate, kind=kind)


class Session:
    """`eduardo chat` on one problem of the embedded classroom."""

    def __init__(
        self, folder: Path, url: str, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._folder, self._url, self._patch, self._capsys = folder, url, patch, capsys
        self.saved = folder / "saved" / "dialogues.jsonl"
        pair = TransferPair(
            id="p1",
            source=item(SIM_PAIR.source.text, ANSWER, ItemKind.SOURCE),
            variant=item(SIM_PAIR.variant.text, TEST_ANSWER, ItemKind.TRANSFER),
            notes=notes(SIM_PAIR.source),
        )
        row = to_row(pair, split="test", index=0, prompt_style="compact", end_tag="<end_of_conversation>")
        write_rows(folder / "test.parquet", [row])

    def run(self, *options: str, typed: list[str]) -> str:
        """What the person read."""
        self._patch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        overrides = [f"data_file={self._folder / 'test.parquet'}", "classroom.server.kind=none"]
        overrides += [f"classroom.{role}.base_url={self._url}" for role in ("student", "judge")]
        assert main([*options, "--save", str(self.saved), *overrides]) == 0
        return self._capsys.readouterr().out

    def dialogue(self) -> ScoredDialogue:
        (scored,) = read_dialogues(self.saved)
        return scored


@pytest.fixture(scope="module")
def classroom_url() -> Iterator[str]:
    with start(timeout_s=300) as server:  # a machine that does other things too
        yield server.base_url


@pytest.fixture
def session(
    tmp_path: Path, classroom_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Session:
    return Session(tmp_path, classroom_url, monkeypatch, capsys)


def test_a_person_learns_and_takes_the_post_test_once(session: Session) -> None:
    said = session.run("--tutor", "guide", typed=["I would add them.", "", "No idea.", "/end", TEST_ANSWER])
    scored = session.dialogue()

    assert [t.text for t in scored.transcript.student_turns][1:] == ["I would add them.", "No idea."]
    assert scored.transcript.end_reason is EndReason.STUDENT_ENDED
    assert scored.post_test is not None and (scored.post_test.num_right, scored.post_test.num_graded) == (
        1,
        1,
    )
    assert scored.reward is not None and scored.reward.gain == 1.0
    assert "judge, no_handover: accept" in said and "1 of 1 right" in said
    assert f"reward {scored.reward.total:+.3f} = gain +1.000" in said
    assert "before is the configured student's rate" in said


def test_views_are_shown_on_demand_and_are_no_turns(session: Session) -> None:
    typed = ["Hm.", "/view tutor", "/view masked", "/view judge", "/view nobody", "/quit"]
    said = session.run("--tutor", "guide", typed=typed)
    tutor, masked, judge, unknown = (
        part.split("you, the student>")[0] for part in said.split("> /view ")[1:]
    )

    assert SIM_PAIR.source.steps[0].quantity in tutor  # the worked solution is in the tutor's prompt only
    assert "(hidden)" in masked and SIM_PAIR.variant.text in masked and "[assistant] Hm." in masked
    assert f'"answer":"{ANSWER}"' in judge and "factual_correctness" in judge
    assert "/view student" in unknown
    assert not session.saved.exists()


def test_a_rejected_tutor_gets_no_post_test_as_in_training(session: Session) -> None:
    said = session.run("--tutor", "teller", typed=["Hm."] * 3 + ["/end"])
    scored = session.dialogue()

    assert Decision.REJECT in [verdict.decision for verdict in scored.verdicts]
    assert scored.post_test is None and scored.reward is not None and scored.reward.gated
    assert "post-test: none" in said and "your final answer" not in said


def test_who_gives_no_answer_is_not_scored_as_wrong(session: Session) -> None:
    said = session.run("--tutor", "guide", typed=["Hm.", "/end", "/end"])

    assert session.dialogue().is_void and "no reward: post-test: 0 of 1 attempts graded" in said


def test_a_person_teaches_and_the_student_takes_the_test_as_in_training(session: Session) -> None:
    typed = ["What do you know?", "And now?", "Go on.", "/end Well done."]
    said = session.run("--as", "tutor", "recipe.reward.gate=off", typed=typed)
    scored = session.dialogue()

    assert [t.text for t in scored.transcript.tutor_turns] == [*typed[:3], "Well done."]
    assert scored.transcript.end_reason is EndReason.TUTOR_ENDED
    assert scored.post_test is not None and scored.post_test.num_graded == 16
    assert said.count("student: ") == 1 + 3 and "solve rate before 0.25" in said


def test_a_tutor_cannot_end_before_its_time(session: Session) -> None:
    session.run("--as", "tutor", typed=["/end", "Well?", "And?", "/end Bye."])

    assert len(session.dialogue().transcript.tutor_turns) == 4


def test_the_end_of_the_input_leaves_without_a_score(session: Session) -> None:
    said = session.run("--tutor", "guide", typed=["Hm."])

    assert "left; nothing was scored" in said and not session.saved.exists()


def test_without_a_served_tutor_the_message_says_how_to_get_one(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDUARDO_ENDPOINTS", str(tmp_path / "endpoints"))
    with pytest.raises(UserError, match=r"no tutor server is published .*eduardo\.serve tutor"):
        session.run(typed=[])


def test_a_problem_that_is_not_there_is_refused(session: Session) -> None:
    with pytest.raises(UserError, match=r"--problem 5: there are problems 0 to 0"):
        session.run("--problem", "5", typed=[])


def test_a_model_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal(lambda name: None).say("a\x1b[2Jb\x07c\rd ü\n\te")

    assert capsys.readouterr().out == "a[2Jbcd ü\n\te\n"


def test_commands_are_told_from_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n/unknown\n 1/2 \n/end so long\n/quit\n"))
    terminal = Terminal(lambda name: None)

    assert terminal.ask("you") == "1/2"
    with pytest.raises(Ended) as ended:
        terminal.ask("you")
    assert ended.value.last_words == "so long"
    with pytest.raises(Quit):
        terminal.ask("you")
