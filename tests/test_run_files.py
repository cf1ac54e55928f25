"""Files that a run's processes share: dialogues per step, the metrics journal, requests to stop."""

import json
import math

import pytest

from eduardo.verl_adapter import dialogue_files
from eduardo.verl_adapter.journal import JournalReader, MetricsJournal, read_journal
from eduardo.verl_adapter.stop import StopTraining, check_stop, clear_stop, request_stop, write_status
from eduardo.viewer.sources import Run, RunKind


class Tracking:
    def __init__(self):
        self.logged = []
        self.exit_code = None

    def log(self, data, step):
        self.logged.append((step, data))

    def finish(self, exit_code):
        self.exit_code = exit_code


def write_part(run_dir, split, step, worker, *lines):
    dialogue_files.part_file(run_dir, split, step, worker=worker).write_text(
        "".join(f"{line}\n" for line in lines)
    )


def test_parts_of_workers_become_one_file_in_a_fixed_order(tmp_path):
    write_part(tmp_path, "train", 3, "b-1", "c", "a")
    write_part(tmp_path, "train", 3, "a-2", "b")
    dialogue_files.join_parts(tmp_path, "train", 3)
    path = tmp_path / "dialogues" / "train" / "step_000003.jsonl"
    assert path.read_text() == "a\nb\nc\n"
    assert list(path.parent.iterdir()) == [path]


def test_joining_nothing_is_harmless(tmp_path):
    dialogue_files.join_parts(tmp_path, "val", 1)
    assert not (tmp_path / "dialogues").exists()


def test_what_is_left_of_later_steps_is_discarded_before_they_run_again(tmp_path):
    for step in (1, 2):
        write_part(tmp_path, "train", step, "w", str(step))
        dialogue_files.join_parts(tmp_path, "train", step)
    write_part(tmp_path, "train", 3, "w", "unfinished")
    (tmp_path / "dialogues" / "train" / ".step_000004.jsonl.0f").write_text("a draft that a crash left")
    dialogue_files.discard_after(tmp_path, 1)
    assert [path.name for path in (tmp_path / "dialogues" / "train").iterdir()] == ["step_000001.jsonl"]


def test_what_was_scored_in_steps_that_run_again_is_kept_where_nobody_looks(tmp_path):
    for attempt in ("first", "second"):
        write_part(tmp_path, "train", 2, "w", attempt)
        dialogue_files.join_parts(tmp_path, "train", 2)
        write_part(tmp_path, "val", 3, "w", f"{attempt}, unfinished")
        dialogue_files.discard_after(tmp_path, 1)
    kept = tmp_path / "dialogues" / "discarded"
    assert {str(path.relative_to(kept)): path.read_text() for path in kept.rglob("*.jsonl")} == {
        "train/step_000002.1.jsonl": "first\n",
        "train/step_000002.2.jsonl": "second\n",
        "val/step_000003.1.parts/w.jsonl": "first, unfinished\n",
        "val/step_000003.2.parts/w.jsonl": "second, unfinished\n",
    }
    write_part(tmp_path, "train", 1, "w", "of the run")
    dialogue_files.discard_after(tmp_path, 1)
    assert [file.path.parent.name for file in Run("run", tmp_path, RunKind.TRAINING).files()] == [
        "step_000001.parts"
    ]


def test_the_journal_keeps_numbers_and_passes_them_on(tmp_path):
    tracking = Tracking()
    journal = MetricsJournal(tracking, tmp_path / "metrics.jsonl", resumed_step=0)
    journal.log({"a": 1, "b": math.nan, "c": None, "d": "text", "e": 2.5}, step=1)
    journal.finish(exit_code=3)
    assert read_journal(tmp_path / "metrics.jsonl") == [{"step": 1, "a": 1.0, "e": 2.5}]
    assert tracking.logged == [(1, {"a": 1.0, "e": 2.5})]
    assert tracking.exit_code == 3


def test_a_resumed_journal_forgets_the_steps_that_are_taken_again(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"step": 4, "cut')
    MetricsJournal(Tracking(), path, resumed_step=2).log({}, step=3)
    assert [line["step"] for line in read_journal(path)] == [1, 2, 3]


def test_a_reader_shows_each_line_once_and_only_when_it_is_whole(tmp_path):
    path = tmp_path / "metrics.jsonl"
    reader = JournalReader(path)
    assert list(reader.new_lines()) == []
    path.write_text('{"step": 1}\n{"ste')
    assert list(reader.new_lines()) == [{"step": 1}]
    path.write_text('{"step": 1}\n{"step": 2}\n')
    assert list(reader.new_lines()) == [{"step": 2}]


def test_a_reader_of_a_resumed_run_shows_only_what_is_new(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n')
    reader = JournalReader(path, from_end=True)
    MetricsJournal(Tracking(), path, resumed_step=2)
    assert list(reader.new_lines()) == []
    with path.open("a") as file:
        file.write('{"step": 3}\n')
    assert list(reader.new_lines()) == [{"step": 3}]


def test_a_stop_is_seen_until_it_is_cleared_and_the_first_reason_stays(tmp_path):
    check_stop(tmp_path)
    request_stop(tmp_path, "disk failing", failed=True)
    request_stop(tmp_path, "second thoughts")
    with pytest.raises(StopTraining) as caught:
        check_stop(tmp_path)
    assert (caught.value.reason, caught.value.failed) == ("disk failing", True)
    clear_stop(tmp_path)
    check_stop(tmp_path)


def test_a_request_that_is_still_being_written_is_seen_later(tmp_path):
    request_stop(tmp_path, "x")
    path = tmp_path / "stop.json"
    whole = path.read_text()
    for length in range(len(whole)):
        path.write_text(whole[:length])
        check_stop(tmp_path)
    path.write_text(whole)
    with pytest.raises(StopTraining, match="x"):
        check_stop(tmp_path)


@pytest.mark.parametrize(
    ("stop", "status"),
    [
        (None, {"step": 4, "reason": None, "failed": False}),
        (StopTraining("asked"), {"step": 4, "reason": "asked", "failed": False}),
        (StopTraining("void", failed=True), {"step": 4, "reason": "void", "failed": True}),
    ],
)
def test_a_run_says_how_it_ended(tmp_path, stop, status):
    write_status(tmp_path, step=4, stop=stop)
    assert json.loads((tmp_path / "status.json").read_text()) == status
