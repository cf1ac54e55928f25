"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from eduardo.errors import UserError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place, flush it to the disk, then move it there. Makes missing folders.

    Raises UserError when that is not possible; what was at `path` before is then unchanged.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}); name another file") from None
