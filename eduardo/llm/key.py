"""Read an API key from where the settings say. Messages name the place, never the key."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from eduardo.errors import UserError
from eduardo.settings import EndpointSettings


def read_api_key(settings: EndpointSettings) -> str | None:
    """The key, or None when none is needed. Raises UserError when it is missing, odd or open to others."""
    if settings.api_key_env is not None and settings.api_key_file is not None:
        raise UserError("api_key_env and api_key_file are both set; keep one of them")
    if settings.api_key_env is not None:
        return checked_key(
            os.environ.get(settings.api_key_env, ""), f"environment variable {settings.api_key_env}"
        )
    if settings.api_key_file is not None:
        return checked_key(_read_private_file(settings.api_key_file), f"api_key_file {settings.api_key_file}")
    return None


def _read_private_file(path: str) -> str:
    try:
        with Path(path).expanduser().open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise UserError(f"api_key_file {path} has mode {mode:04o}; run: chmod 600 {path}")
            return file.read(4096).decode("ascii", errors="replace")
    except OSError as error:
        raise UserError(f"api_key_file {path} cannot be read: {error.strerror}") from error


def checked_key(text: str, place: str) -> str:
    """The key without white space around it. Raises UserError that names `place` when it cannot be one."""
    key = text.strip()
    if not key:
        raise UserError(f"{place} holds no API key; set it or remove the setting that names it")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UserError(f"{place} holds more than one API key line or characters that no key has")
    return key
