"""A checkpoint folder is complete or is not used: whatever is cut, missing or half-written is skipped and named."""

import shutil
import subprocess
import sys

import pytest

from eduardo.errors import UserError
from eduardo.verl_adapter import checkpoints
from eduardo.verl_adapter.checkpoints import MARKER, POINTER, fault_of, newest_complete, open_checkpoint

STATE = {"seed": 42, "next_epoch": 0}


def save(root, step, content=b"weights"):
    with checkpoints.writing(root, step, STATE) as folder:
        (folder / "actor").mkdir()
        (folder / "actor" / "model.pt").write_bytes(content)
        (folder / "actor" / "optim.pt").write_bytes(content * 2)
    return root / f"global_step_{step}"


@pytest.fixture
def skipped():
    return []


def newest(root, skipped):
    found = newest_complete(root, report=skipped.append)
    return found.step if found else None


def test_the_newest_one_is_found_with_its_state(tmp_path, skipped):
    save(tmp_path, 9)
    save(tmp_path, 10)
    assert newest(tmp_path, skipped) == 10
    assert skipped == []
    assert open_checkpoint(tmp_path / "global_step_10").state() == STATE
    assert (tmp_path / POINTER).read_text() == "10"


def test_a_folder_without_checkpoints_has_none(tmp_path, skipped):
    assert newest(tmp_path / "absent", skipped) is None


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda folder: (folder / MARKER).unlink(), "not written to the end"),
        (lambda folder: (folder / MARKER).write_text("{"), "cannot be read"),
        (lambda folder: (folder / "actor" / "optim.pt").unlink(), "optim.pt is missing"),
        (lambda folder: (folder / "actor" / "model.pt").write_bytes(b"w"), "model.pt is cut short"),
    ],
)
def test_r02_a_damaged_one_is_skipped_and_named(tmp_path, skipped, damage, why):
    save(tmp_path, 1)
    folder = save(tmp_path, 2)
    damage(folder)
    assert newest(tmp_path, skipped) == 1
    assert len(skipped) == 1
    assert "global_step_2" in skipped[0]
    assert why in skipped[0]


def test_one_that_was_never_renamed_is_skipped(tmp_path, skipped):
    save(tmp_path, 1)
    save(tmp_path, 2).rename(tmp_path / "global_step_2.tmp")
    assert newest(tmp_path, skipped) == 1


def test_r02_a_pointer_to_a_missing_folder_does_not_mislead(tmp_path, skipped):
    save(tmp_path, 1)
    shutil.rmtree(save(tmp_path, 2))
    assert (tmp_path / POINTER).read_text() == "2"
    assert newest(tmp_path, skipped) == 1


def test_r02_a_full_disk_leaves_nothing_and_the_previous_one_usable(tmp_path, skipped):
    save(tmp_path, 1)
    with pytest.raises(OSError, match="No space left"), checkpoints.writing(tmp_path, 2, STATE) as folder:
        (folder / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")
    assert newest(tmp_path, skipped) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["global_step_1", POINTER]


def test_r02_a_process_killed_while_it_writes_leaves_the_previous_one_in_use(tmp_path, skipped):
    save(tmp_path, 1)
    code = (
        "import pathlib, sys, time\n"
        "from eduardo.verl_adapter import checkpoints\n"
        f"with checkpoints.writing(pathlib.Path({str(tmp_path)!r}), 2, {{}}) as folder:\n"
        "    (folder / 'actor.pt').write_bytes(b'half')\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "writing\n"
        writer.kill()
    assert newest(tmp_path, skipped) == 1
    assert "global_step_2.tmp" in skipped[0]
    save(tmp_path, 2)
    assert newest(tmp_path, skipped) == 2
    assert not list(tmp_path.glob("*.tmp"))


def test_saving_a_step_again_replaces_it(tmp_path, skipped):
    save(tmp_path, 1, b"old")
    folder = save(tmp_path, 1, b"new")
    assert (folder / "actor" / "model.pt").read_bytes() == b"new"
    assert newest(tmp_path, skipped) == 1


def test_r02_old_ones_go_only_when_enough_newer_ones_are_complete(tmp_path):
    for step in (1, 2, 3):
        save(tmp_path, step)
    (tmp_path / "global_step_3" / MARKER).unlink()
    checkpoints.remove_old(tmp_path, keep=1)
    assert fault_of(tmp_path / "global_step_2") is None
    assert not (tmp_path / "global_step_1").exists()


def test_one_can_be_named(tmp_path):
    folder = save(tmp_path, 4)
    assert open_checkpoint(folder).step == 4
    (folder / "actor" / "model.pt").unlink()
    with pytest.raises(UserError, match=r"model\.pt is missing"):
        open_checkpoint(folder)
    with pytest.raises(UserError, match="is not a checkpoint folder"):
        open_checkpoint(tmp_path)


def test_room_on_the_disk_is_judged_by_the_newest_one(tmp_path, monkeypatch):
    assert checkpoints.has_room_for_another(tmp_path)
    save(tmp_path, 1, b"x" * 1000)
    monkeypatch.setattr(checkpoints.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 3000})())
    assert not checkpoints.has_room_for_another(tmp_path)
