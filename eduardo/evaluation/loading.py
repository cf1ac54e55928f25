"""From a file of configs/ and overrides to typed settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import ValidationError

from eduardo.config import compose
from eduardo.errors import UserError
from eduardo.settings import Settings

S = TypeVar("S", bound=Settings)


def load(config_name: str, kind: type[S], overrides: Sequence[str]) -> S:
    """configs/NAME.yaml with overrides. Raises UserError with the key that is wrong or has no value."""
    try:
        config: Any = OmegaConf.to_container(
            compose(overrides, config_name=config_name), resolve=True, throw_on_missing=True
        )
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None)
        raise UserError(f"{key or config_name}: {str(error).splitlines()[0]}") from None
    try:
        return kind.model_validate(config)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(
            f"{'.'.join(map(str, first['loc']))}: {first['msg']} (got {first['input']!r})"
        ) from None
