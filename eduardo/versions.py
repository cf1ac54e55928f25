"""Which versions of packages are installed, and which ones this project asks for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

_PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Unmet:
    requirement: str
    installed: str | None


def installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def unmet_requirements(extra: str) -> list[Unmet]:
    """Requirements of an optional part of this project that the installed packages do not meet."""
    return [
        Unmet(str(requirement), installed)
        for requirement in _requirements(extra)
        if (installed := installed_version(requirement.name)) is None
        or not requirement.specifier.contains(installed.partition("+")[0], prereleases=True)
    ]


def _requirements(extra: str) -> Iterator[Requirement]:
    """From the checkout, else from the installed package."""
    if _PROJECT.is_file():
        listed = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        yield from map(Requirement, listed[extra])
        return
    for text in metadata.requires("eduardo") or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker and not marker.evaluate({"extra": ""}) and marker.evaluate({"extra": extra}):
            yield Requirement(f"{requirement.name}{requirement.specifier}")
