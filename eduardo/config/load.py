"""Settings of a command from its file in configs/, the user's overrides and its flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from omegaconf import OmegaConf
from pydantic import ValidationError

from eduardo.config.compose import compose
from eduardo.config.validate import first_problem, resolve
from eduardo.errors import UserError
from eduardo.settings import Settings

S = TypeVar("S", bound=Settings)


def load_settings(
    kind: type[S], overrides: Sequence[str], *, config_name: str, flags: Mapping[str, object] | None = None
) -> S:
    """`configs/<config_name>.yaml` with overrides (KEY=VALUE) and then `flags` (key → value), checked as a `kind`.

    Raises UserError with the key that is wrong. A mandatory value that is missing stays `???`.
    """
    config = compose(overrides, config_name=config_name)
    for key, value in (flags or {}).items():
        OmegaConf.update(config, key, value)
    resolve(config)
    plain: Any = OmegaConf.to_container(config)
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        raise UserError(first_problem(error)) from None
