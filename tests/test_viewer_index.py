"""The index: it takes in what is appended, follows files that are joined or rewritten, and answers questions.

Records are really scored dialogues of the simulated classroom (tests/sample_runs.py).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError
from sample_runs import write_dialogues, write_evaluation, write_run

from eduardo.errors import UserError
from eduardo.records import read_dialogues, to_json
from eduardo.types import ScoredDialogue
from eduardo.verl_adapter.dialogue_files import join_parts, part_file, step_file
from eduardo.viewer import query
from eduardo.viewer.library import Library
from eduardo.viewer.query import Filter, Page, Selection, to_match

STEPS = [["teller", "guide"], ["guide", "vaguer"]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 8 dialogues and an evaluation of 6, made once."""
    folder = tmp_path_factory.mktemp("recorded")
    write_run(folder / "run", STEPS, num_pairs=2)
    write_evaluation(folder / "evaluation", ["none", "guide"], num_pairs=3)
    return folder


@pytest.fixture(scope="module")
def dialogues(recorded: Path) -> list[ScoredDialogue]:
    return [d for step in (1, 2) for d in read_dialogues(step_file(recorded / "run", "train", step))]


@pytest.fixture(scope="module")
def library(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Library:
    library = Library([recorded], tmp_path_factory.mktemp("cache"), poll_s=60)
    library.refresh()
    return library


def open_library(path: Path) -> Library:
    library = Library([path], path.parent / "cache", poll_s=60)
    library.refresh()
    return library


def found(library: Library, **wanted: object) -> list[query.Row]:
    with library.index.connect() as connection:
        page = Page.model_validate(wanted)
        return Selection(connection, page).page(page)


# -- growth ------------------------------------------------------------------------------------------------


def test_lines_that_are_appended_are_taken_in_and_nothing_is_read_twice(tmp_path: Path, dialogues) -> None:
    file = step_file(tmp_path / "run", "train", 1)
    write_dialogues(file, dialogues[:3])
    library = open_library(tmp_path / "run")
    assert len(found(library)) == 3
    version = library.version
    library.refresh()
    assert library.version == version
    write_dialogues(file, dialogues[3:5])
    library.refresh()
    assert len(found(library)) == 5
    assert library.version > version


def test_a_line_that_is_still_being_written_waits_for_its_end(tmp_path: Path, dialogues) -> None:
    file = step_file(tmp_path / "run", "train", 1)
    write_dialogues(file, dialogues[:1])
    line = to_json(dialogues[1]) + b"\n"
    with file.open("ab") as out:
        out.write(line[:200])
    library = open_library(tmp_path / "run")
    assert len(found(library)) == 1
    with file.open("ab") as out:
        out.write(line[200:])
    library.refresh()
    assert len(found(library)) == 2
    with library.index.connect() as connection:
        assert query.bad_lines(connection) == []


def test_a_dialogue_keeps_its_address_when_the_parts_of_a_step_are_joined(tmp_path: Path, dialogues) -> None:
    run = tmp_path / "run"
    write_dialogues(part_file(run, "train", 1, worker="a"), dialogues[:2])
    write_dialogues(part_file(run, "train", 1, worker="b"), dialogues[2:4])
    library = open_library(run)
    before = {row["key"]: library.read(row["key"]) for row in found(library)}
    join_parts(run, "train", 1)
    assert {key: library.read(key) for key in before} == before, "read on before the index looked again"
    library.refresh()
    assert {row["key"] for row in found(library)} == before.keys()


def test_a_file_that_is_rewritten_is_indexed_anew_and_one_that_is_gone_is_forgotten(
    tmp_path: Path, dialogues
) -> None:
    run = tmp_path / "run"
    for step in (1, 2):
        write_dialogues(step_file(run, "train", step), dialogues[step * 2 : step * 2 + 2])
    library = open_library(run)
    assert len(found(library)) == 4
    step_file(run, "train", 1).unlink()
    write_dialogues(step_file(run, "train", 1), dialogues[:1])
    step_file(run, "train", 2).write_bytes(b"".join(to_json(d) + b"\n" for d in dialogues[5:8]))
    library.refresh()
    assert {library.read(row["key"]).labels["seed"] for row in found(library)} == {
        d.labels["seed"] for d in (dialogues[0], *dialogues[5:8])
    }
    step_file(run, "train", 2).unlink()
    library.refresh()
    assert len(found(library)) == 1


def test_a_line_that_is_no_dialogue_is_named_and_the_others_are_shown(tmp_path: Path, dialogues) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(to_json(dialogues[0]) + b"\n{}\nnonsense\n\n" + to_json(dialogues[1]) + b"\n")
    library = open_library(file)
    assert len(found(library)) == 2
    with library.index.connect() as connection:
        [bad] = query.bad_lines(connection)
    assert (bad["path"], bad["num_bad"]) == (str(file), 2)
    assert bad["first_bad"].startswith(f"byte {len(to_json(dialogues[0])) + 1}: not a dialogue record")


def test_an_index_of_an_earlier_form_is_built_again(tmp_path: Path, dialogues) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues[:2])
    library = open_library(tmp_path / "d.jsonl")
    with library.index.connect() as connection:
        connection.execute("PRAGMA user_version = 7")
        connection.execute("DROP TABLE dialogues")
    assert len(found(open_library(tmp_path / "d.jsonl"))) == 2


def test_two_viewers_share_one_index(tmp_path: Path, dialogues) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues[:2])
    one, other = open_library(tmp_path / "d.jsonl"), open_library(tmp_path / "d.jsonl")
    write_dialogues(tmp_path / "d.jsonl", dialogues[2:4])
    other.refresh()
    one.refresh()
    assert found(one) == found(other)
    assert len(found(one)) == 4


def test_a_cache_folder_that_cannot_hold_an_index_is_refused(tmp_path: Path, recorded: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UserError, match=r"no index can be kept there .* name another --cache-dir"):
        Library([recorded], blocked, poll_s=60)


# -- questions ---------------------------------------------------------------------------------------------


def test_every_dialogue_is_listed_once_newest_step_first(library: Library) -> None:
    rows = found(library)
    assert len(rows) == 8 + 6, "the second record of an evaluated dialogue is no row of its own"
    steps = [row["step"] for row in rows]
    assert steps == [2] * 4 + [1] * 4 + [None] * 6


def test_dialogues_are_filtered_by_verdict_end_reason_group_and_bounds(library: Library) -> None:
    every = found(library)
    rejected = found(library, leak=["reject"])
    assert rejected == [row for row in every if row["leak"] == "reject"]
    assert rejected
    assert {row["grp"] for row in found(library, grp=["guide", "none"])} == {"guide", "none"}
    high = found(library, bound=["reward>=0.5", "step<=1"])
    assert high == [row for row in every if row["step"] == 1 and row["reward"] >= 0.5]
    assert found(library, end_reason=["turn_limit"]) == [r for r in every if r["end_reason"] == "turn_limit"]
    assert found(library, void=True) == []


def test_dialogues_are_sorted_with_missing_values_last(library: Library) -> None:
    for descending in (True, False):
        gains = [row["post"] for row in found(library, sort="post", descending=descending)]
        measured = [gain for gain in gains if gain is not None]
        assert measured == sorted(measured, reverse=descending)
        assert gains[len(measured) :] == [None] * (len(gains) - len(measured))
    assert None in gains


def test_pages_are_stretches_of_one_order(library: Library) -> None:
    every = found(library, sort="reward")
    pages = [found(library, sort="reward", offset=offset, limit=5) for offset in (0, 5, 10)]
    assert [row for page in pages for row in page] == every


def test_text_is_searched_by_words_phrases_and_beginnings_in_any_part(library: Library) -> None:
    every = found(library)
    rejected = [row for row in every if row["leak"] == "reject"]
    assert found(library, text='"the answer is"', text_in="tutor", leak=["reject"]) == rejected
    assert found(library, text='"answer the is"', text_in="tutor") == []
    assert len(found(library, text="goodb", text_in="tutor")) > 0
    assert found(library, text="goodb", text_in="student") == []
    assert found(library, text="viol", text_in="judge") == found(library, text="violates", text_in="judge")


@pytest.mark.parametrize(
    "text", ['"', '""', "*", "-", "a AND", "NOT", '" OR "', "tutor:", "{", "(", "^x", "a*b", "\0"]
)
def test_no_search_text_is_a_syntax_error(library: Library, text: str) -> None:
    found(library, text=text)


def test_search_expressions_quote_what_was_typed() -> None:
    assert to_match('two "a b" thi') == '"two" AND "a b" AND "thi"*'
    assert to_match("done ") == '"done"'
    assert to_match("= +") is None
    assert to_match("x", "tutor") == '{tutor} : ("x"*)'


@pytest.mark.parametrize(
    "wanted",
    [
        {"bound": ["reward>1; DROP TABLE dialogues"]},
        {"bound": ["key>=1"]},
        {"sort": "1; --"},
        {"limit": 10**6},
        {"x": 1},
    ],
)
def test_what_is_no_question_is_refused(wanted: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Page.model_validate(wanted)


def test_sums_over_steps_agree_with_the_rows(library: Library) -> None:
    rows = [row for row in found(library) if row["grp"] == "train" and row["step"] == 1]
    with library.index.connect() as connection:
        [step] = Selection(connection, Filter(grp=["train"], bound=["step<=1"])).over_steps()
    assert step["num"] == len(rows) == 4
    assert step["sum_reward"] == pytest.approx(sum(row["reward"] for row in rows))
    assert step["num_leaks"] == sum(row["leak"] == "reject" for row in rows)
    assert step["num_tested"] == sum(row["post"] is not None for row in rows)


def test_both_post_tests_of_an_evaluated_dialogue_are_found(library: Library) -> None:
    row = found(library, grp=["guide"])[0]
    with library.index.connect() as connection:
        twin = query.twin_key(connection, row["key"])
    first, second = library.read(row["key"]), library.read(twin)
    assert first.transcript == second.transcript
    assert {first.labels["post_test"], second.labels["post_test"]} == {"transfer", "source"}


def test_an_unknown_address_is_nothing(library: Library) -> None:
    assert library.read("0" * 16) is None


def test_a_run_that_vanishes_leaves_an_empty_list(tmp_path: Path, dialogues) -> None:
    write_dialogues(step_file(tmp_path / "run", "train", 1), dialogues[:2])
    library = open_library(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    library.refresh()
    assert found(library) == []
