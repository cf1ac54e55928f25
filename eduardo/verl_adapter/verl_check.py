"""verl's own check of a configuration, its complaints as one line."""

from __future__ import annotations

from typing import Any

from hydra.errors import InstantiationException
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config

from eduardo.errors import UserError

_REFUSALS = (
    AssertionError,
    AttributeError,
    InstantiationException,
    KeyError,
    NotImplementedError,
    TypeError,
    ValueError,
)


def check_with_verl(config: Any) -> None:
    """`config` is resolved. Raises UserError."""
    try:
        validate_config(
            config=config,
            use_reference_policy=need_reference_policy(config),
            use_critic=need_critic(config),
        )
    # verl refuses by assertion, and by whatever its dataclasses raise, at times wrapped by Hydra.
    except _REFUSALS as error:
        raise UserError(
            f"verl refuses the configuration ({' '.join(str(error).split())}); change what it names"
        ) from error
