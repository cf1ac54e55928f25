"""The journal: every finished row is on disk, and nothing is mixed that does not belong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eduardo.dataset import Location
from eduardo.errors import EndpointUnavailable, UserError
from eduardo.llm import TokenUsage
from eduardo.transfer_generation.journal import JOURNAL, open_journal
from eduardo.transfer_generation.outcome import Draft, Kept, NotMeasured, Reason, Round, Row, Variant
from eduardo.transfer_generation.run import run_rows
from eduardo.transfer_generation.source import SourceProblem
from eduardo.types import Problem, SolveRate

MADE_WITH = {"rewriter": "m", "generation": {"seed": 1, "temperature": 0.7}}


def row(source_id: str) -> Row:
    rate = SolveRate(value=0.25, num_graded=16)
    rounds = (
        Round(number=1, seed=1, draft=None, reason=Reason.UNREADABLE, detail="no object"),
        Round(number=2, seed=2, draft=Draft(problem="\\frac{1}{2} ½", answer="1"), rate=rate),
    )
    return Row(
        source_id=source_id,
        source_rate=rate,
        variants=(Variant(index=1, rounds=rounds, kept=Kept.ACCEPTED, chosen=2),),
        rewriter_usage=TokenUsage(num_requests=2, prompt_tokens=5, completion_tokens=7),
        student_usage=TokenUsage(),
    )


def source(source_id: str) -> SourceProblem:
    problem = Problem(text=f"problem {source_id}", answer="1")
    return SourceProblem(
        id=source_id,
        split="train",
        problem=problem,
        solution=None,
        group=None,
        extras={},
        where=Location("f", 1),
    )


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    with open_journal(tmp_path, MADE_WITH) as journal:
        journal.write(row("a"))
        journal.write(row("b"))
    with open_journal(tmp_path, MADE_WITH) as journal:
        assert journal.rows == {"a": row("a"), "b": row("b")}


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_row_that_was_cut_while_it_was_written_is_done_again(cut: int, tmp_path: Path) -> None:
    with open_journal(tmp_path, MADE_WITH) as journal:
        journal.write(row("a"))
        journal.write(row("b"))
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes()[: -1 - cut])
    with open_journal(tmp_path, MADE_WITH) as journal:
        assert list(journal.rows) == ["a"]
        journal.write(row("b"))
    with open_journal(tmp_path, MADE_WITH) as journal:
        assert list(journal.rows) == ["a", "b"]


def test_rows_made_with_something_else_are_refused_by_name(tmp_path: Path) -> None:
    with open_journal(tmp_path, MADE_WITH):
        pass
    other = {**MADE_WITH, "generation": {"seed": 2, "temperature": 0.7}, "student": "s"}
    with (
        pytest.raises(UserError, match=r"another generation\.seed, student: choose another --out-dir"),
        open_journal(tmp_path, other),
    ):
        pass


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    with (
        open_journal(tmp_path, MADE_WITH),
        pytest.raises(UserError, match="another run is at work there"),
        open_journal(tmp_path, MADE_WITH),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a":1}\n', "line 1: not the journal"),
        (b'{"version":9,"made_with":{}}\n', "version 9"),
        (b'{"version":1,"made_with":{}}\n{"half":1}\n', "line 2: not a row"),
    ],
)
def test_a_foreign_file_is_one_clear_message(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(content)
    with pytest.raises(UserError, match=message), open_journal(tmp_path, {}):
        pass


async def test_open_rows_are_not_recorded_and_are_tried_again(tmp_path: Path) -> None:
    sources = [source(name) for name in "abcdef"]
    failing = {"b", "e"}

    async def work(one: SourceProblem) -> Row:
        if one.id in failing:
            raise EndpointUnavailable(f"{one.id} is down") if one.id == "b" else NotMeasured("too few")
        return row(one.id)

    told: list[str] = []

    async def run() -> list[str]:
        with open_journal(tmp_path, MADE_WITH) as journal:
            still_open = await run_rows(
                sources,
                work,
                journal,
                max_at_once=2,
                max_open_in_a_row=9,
                on_row=lambda r: told.append(r.source_id),
            )
            return [one.source.id for one in still_open]

    assert await run() == ["b", "e"]
    assert sorted(told) == ["a", "c", "d", "f"]
    failing.clear()
    assert await run() == []
    assert sorted(told) == ["a", "b", "c", "d", "e", "f"]


def refused_row(name: str) -> Row:
    tried = Round(number=1, seed=1, draft=None, reason=Reason.ENDPOINT_REFUSED, detail=f"{name} is too long")
    return replace(row(name), source_rate=None, variants=(Variant(index=1, rounds=(tried,)),))


@pytest.mark.parametrize(
    ("refused", "still_open"), [("a", ""), ("bc", ""), ("abc", "abc")], ids=["one", "two", "all"]
)
async def test_refused_rows_are_finished_where_another_row_gets_through(
    refused: str, still_open: str, tmp_path: Path
) -> None:
    async def work(one: SourceProblem) -> Row:
        return refused_row(one.id) if one.id in refused else row(one.id)

    told: list[Row] = []
    with open_journal(tmp_path, MADE_WITH) as journal:
        left = await run_rows(
            [source(name) for name in "abc"],
            work,
            journal,
            max_at_once=1,
            max_open_in_a_row=9,
            on_row=told.append,
        )
    assert "".join(one.source.id for one in left) == still_open
    assert all(one.fault == f"{one.source.id} is too long" for one in left)
    with open_journal(tmp_path, MADE_WITH) as journal:
        assert "".join(sorted(journal.rows)) == "".join(sorted(set("abc") - set(still_open)))
        assert all(journal.rows[one.source_id] == one for one in told)


async def test_a_dead_endpoint_stops_the_run_instead_of_failing_every_row(tmp_path: Path) -> None:
    tried: list[str] = []

    async def work(one: SourceProblem) -> Row:
        tried.append(one.id)
        raise EndpointUnavailable("down")

    with open_journal(tmp_path, MADE_WITH) as journal:
        await run_rows(
            [source(str(n)) for n in range(50)],
            work,
            journal,
            max_at_once=1,
            max_open_in_a_row=3,
            on_row=print,
        )
    assert tried == ["0", "1", "2"]


async def test_a_bug_is_not_an_open_row(tmp_path: Path) -> None:
    async def work(one: SourceProblem) -> Row:
        raise ZeroDivisionError

    with open_journal(tmp_path, MADE_WITH) as journal, pytest.raises(ZeroDivisionError):
        await run_rows([source("a")], work, journal, max_at_once=2, max_open_in_a_row=3, on_row=print)
