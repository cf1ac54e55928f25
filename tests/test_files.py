"""Files are written as a whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from eduardo.errors import UserError
from eduardo.files import changed_keys, flush, replace_file, write_whole


def test_a_file_is_written_with_its_folder_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.json"
    write_whole(path, b"first, and longer")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in path.parent.iterdir()] == ["report.json"]


def test_what_cannot_be_written_is_named_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(UserError, match=r"taken: cannot be written \(.*\); name another file"):
        write_whole(tmp_path / "taken", b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="cannot be written"):
        write_whole(tmp_path / "file" / "report.json", b"x")


def test_a_file_that_nobody_named_keeps_the_systems_error(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "taken", b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_contents_are_on_the_disk_before_the_name_and_the_name_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = []
    monkeypatch.setattr(os, "fsync", lambda fd: events.append(Path(f"/proc/self/fd/{fd}").readlink()))
    move = Path.replace
    monkeypatch.setattr(Path, "replace", lambda old, new: (events.append(f"{old} > {new}"), move(old, new)))
    replace_file(tmp_path / "journal", b"x")
    draft = events[0]
    assert draft.parent == tmp_path and draft.name.startswith(".journal.")
    assert events == [draft, f"{draft} > {tmp_path / 'journal'}", tmp_path]


def test_a_file_system_that_cannot_flush_folders_still_holds_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(fd: int) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(os, "fsync", fail)
    (tmp_path / "file").write_bytes(b"x")
    code = errno.EINVAL
    flush(tmp_path)
    with pytest.raises(OSError, match="no"):
        flush(tmp_path / "file")
    code = errno.EIO
    with pytest.raises(OSError, match="no"):
        flush(tmp_path)


def test_a_file_has_the_permissions_of_any_other_new_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "ours", b"x")
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("noted", "now", "changed"),
    [
        ({"a": [1, 2], "b": {"c": 1}}, {"b": {"c": 1}, "a": (1, 2)}, []),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["b"]),
        ({"a": 1}, {}, ["a"]),
        ({}, {"a": None}, ["a"]),
        ({"b": {"c": {"x": 1, "y": 1}}}, {"b": {"c": {"x": 2}}}, ["b.c.x", "b.c.y"]),
        ({"b": {"c": 1}}, {"b": None}, ["b"]),
    ],
)
def test_facts_that_changed_since_they_were_noted_are_named(
    noted: dict[str, object], now: dict[str, object], changed: list[str]
) -> None:
    assert changed_keys(noted, now) == changed
