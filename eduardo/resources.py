"""Where the shipped configuration lies: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

from eduardo.errors import UserError

_PACKAGE = Path(__file__).resolve().parent


def configs_dir() -> Path:
    """Folder of the shipped Hydra configuration (`recipe/`, `model/`, `hardware/` ...)."""
    for candidate in (_PACKAGE / "configs", _PACKAGE.parent / "configs"):
        if (candidate / "recipe").is_dir():
            return candidate
    raise UserError(
        f"no configs/ folder beside or inside {_PACKAGE}; the installation is incomplete: reinstall eduardo"
    )
