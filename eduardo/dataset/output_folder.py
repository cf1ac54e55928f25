"""Write several files into a folder so that a crash or a full disk never leaves half of them."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from eduardo.errors import UserError
from eduardo.files import file_sha256, flush

MANIFEST = "manifest.json"


class Staging:
    """Files under construction. `path(name)` is where to write what will become `name`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        return self._folder / name

    def write_manifest(self, content: dict[str, object]) -> None:
        """Write the manifest over everything staged so far, with the digest of each file."""
        digests = {file.name: file_sha256(file) for file in sorted(self._folder.iterdir())}
        manifest = orjson.dumps(
            {**content, "sha256": digests}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        )
        self.path(MANIFEST).write_bytes(manifest)


@contextmanager
def output_folder(target: Path) -> Iterator[Staging]:
    """Stage files beside their final place; on success move them all, the manifest last; else leave no trace.

    Raises UserError when the folder cannot be created or written, or the disk is full.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".partial-", dir=target))
    except OSError as error:
        raise _user_error(target, error) from error
    try:
        yield Staging(staging)
        _move_all(staging, target)
    except OSError as error:
        raise _user_error(target, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move_all(staging: Path, target: Path) -> None:
    files = sorted(staging.iterdir(), key=lambda file: (file.name == MANIFEST, file.name))
    for file in files:
        flush(file)
    for file in files:
        file.replace(target / file.name)
    flush(target)


def _user_error(target: Path, error: OSError) -> UserError:
    if error.errno == errno.ENOSPC:
        return UserError(f"{target}: no space left on the device; free some or choose another --out-dir")
    return UserError(f"{target}: cannot be written ({error.strerror or error}); choose another --out-dir")
