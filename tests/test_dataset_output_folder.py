"""Several files appear together or not at all."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from eduardo.dataset.output_folder import output_folder
from eduardo.errors import UserError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_and_manifest_appear_together(tmp_path):
    target = tmp_path / "new" / "out"
    with output_folder(target) as staging:
        staging.path("a.txt").write_text("a")
        staging.write_manifest({"seed": 1})
        assert not (target / "a.txt").exists()
    assert names(target) == ["a.txt", "manifest.json"]
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["seed"] == 1
    assert manifest["sha256"] == {"a.txt": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}


def test_a_failure_leaves_the_old_files_alone(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "other.txt").write_text("not ours")
    with pytest.raises(ZeroDivisionError), output_folder(tmp_path) as staging:
        staging.path("a.txt").write_text(str(1 / 0))
    assert names(tmp_path) == ["a.txt", "other.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_place_that_cannot_be_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    expected = pytest.raises(UserError, match=r"file/out: cannot be written \(Not a directory\)")
    with expected, output_folder(tmp_path / "file" / "out"):
        pass


FULL_DISK = """
import os, sys
from pathlib import Path
from eduardo.dataset.output_folder import output_folder
from eduardo.dataset.rows import RowWriter
from eduardo.errors import UserError
import pyarrow as pa
try:
    with output_folder(Path(sys.argv[1])) as staging:
        with RowWriter(staging.path("a.parquet"), pa.schema([("noise", pa.string())])) as writer:
            for _ in range(3000):
                writer.write({"noise": os.urandom(1000).hex()})
except UserError as error:
    print(error)
"""


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path):
    """A limit on the file size makes the operating system refuse the write, as a full disk does."""
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be written (File too large); choose another --out-dir" in done.stdout, done.stderr
    assert done.stderr == ""
    assert names(tmp_path) == []


def test_a_full_disk_is_called_that(tmp_path):
    with pytest.raises(UserError, match="no space left on the device"), output_folder(tmp_path):
        Path("/dev/full").write_bytes(b"x")
