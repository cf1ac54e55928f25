"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from eduardo.errors import UserError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place, flush it to the disk, then move it there. Makes missing folders.

    Raises UserError when that is not possible; what was at `path` before is then unchanged.
    """
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Opened by name, not by tempfile: a result has the permissions of any other file of its user.
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}); name another file") from None
