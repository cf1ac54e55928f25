"""Files are written as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from eduardo.errors import UserError
from eduardo.files import write_whole


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


def test_a_file_has_the_permissions_of_any_other_new_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "ours", b"x")
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode
