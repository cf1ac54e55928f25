"""Settings of a command from its file in configs/, the user's overrides and its flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from omegaconf import MISSING, OmegaConf
from pydantic import ValidationError

from eduardo.config.compose import compose
from eduardo.config.validate import check_complete, resolve
from eduardo.errors import UserError
from eduardo.settings import EndpointSettings, Settings, first_problem

S = TypeVar("S", bound=Settings)


def load_settings(
    kind: type[S],
    overrides: Sequence[str],
    *,
    config_name: str,
    allow_missing: bool,
    flags: Mapping[str, object] | None = None,
) -> S:
    """`configs/<config_name>.yaml` with overrides (KEY=VALUE) and then `flags` (key → value), checked as a `kind`.

    Raises UserError with the key that is wrong or, unless `allow_missing`, has no value; otherwise that value is `???`,
    for commands that do not need every endpoint (`check_model`).
    """
    config = compose(overrides, config_name=config_name)
    for key, value in (flags or {}).items():
        OmegaConf.update(config, key, value)
    resolve(config)
    if not allow_missing:
        check_complete(config)
    plain: Any = OmegaConf.to_container(config)
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        raise UserError(first_problem(error)) from None


def check_model(endpoint: EndpointSettings, *, config_key: str) -> None:
    """Raises UserError when nobody has named the model of an endpoint that is needed."""
    if endpoint.model == MISSING:
        raise UserError(
            f"{config_key}.model has no value: set it on the command line, as in {config_key}.model=NAME"
        )
