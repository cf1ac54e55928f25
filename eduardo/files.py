"""Files that are there as a whole or not at all, and files that grow by whole lines."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from eduardo.errors import UserError

_logger = logging.getLogger(__name__)

_NOT_NOTED = object()


def write_whole(path: Path, data: bytes) -> None:
    """`replace_file` for a file that a person named: raises UserError when it cannot be written."""
    try:
        replace_file(path, data)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}); name another file") from None


def replace_file(path: Path, data: bytes) -> None:
    """Write a file beside its place, flush it, move it there and flush the move. Makes missing folders.

    Readers see what was there before or all of `data`, also when the machine stops in between. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        # Opened by name, not by tempfile: a result has the permissions of any other file of its user.
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    flush(path.parent)


def flush(path: Path) -> None:
    """Returns when a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot flush a folder; the move into it is then as safe as they make it.
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


class LineWriter:
    """Appends lines to a file; every line is on disk, whole, when `write` returns. A context manager.

    Safe for threads and for several processes on one file. A last line that a crash cut is removed first.
    """

    def __init__(self, path: Path, *, is_whole: Callable[[bytes], bool]) -> None:
        """`is_whole` tells whether a last line without its line break is all there. Makes missing folders."""
        self._path, self._is_whole = path, is_whole
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b", buffering=0)
        self._mutex = threading.Lock()
        with self._locked():
            self._finish_last_line()

    def write(self, line: bytes) -> None:
        """`line` comes without its line break. Raises OSError (nothing is written then)."""
        line += b"\n"
        with self._locked():
            size = os.fstat(self._file.fileno()).st_size
            try:
                written = self._file.write(line)
                if written != len(line):
                    raise OSError(f"{self._path}: only {written} of {len(line)} bytes could be written")
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)
                raise

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # The file lock keeps other processes out, the mutex other threads: they share the file lock.
        with self._mutex:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)

    def _finish_last_line(self) -> None:
        content = self._path.read_bytes()
        end = content.rfind(b"\n") + 1
        if end == len(content):
            return
        if self._is_whole(content[end:]):
            self._file.write(b"\n")
        else:
            self._file.truncate(end)
            _logger.warning("%s: removed a last line that was cut while it was written", self._path)


def file_sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def changed_keys(noted: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """Where facts that were read from a JSON file differ from those of now; keys inside others are `outer.inner`.

    A key that only one side has differs too: what was not noted is not known.
    """
    return sorted(_changed(noted, msgspec.json.decode(msgspec.json.encode(now)), ""))


def _changed(noted: Mapping[str, object], now: Mapping[str, object], prefix: str) -> Iterator[str]:
    for key in {*noted, *now}:
        before, after = noted.get(key, _NOT_NOTED), now.get(key, _NOT_NOTED)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changed(before, after, f"{prefix}{key}.")
        elif before != after:
            yield f"{prefix}{key}"


def names_folder(model: str) -> bool:
    """Whether a model is named by a local path, there or not; any other name is one of the model hub."""
    return Path(model).is_absolute() or Path(model).exists() or model.startswith((".", "models/", "runs/"))
