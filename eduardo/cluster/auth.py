"""Ray's token authentication: without it whoever reaches a port of Ray's runs code as the user who started it."""

from __future__ import annotations

import secrets

TOKEN_BYTES = 32


def new_token_env() -> dict[str, str]:
    """Environment of all processes of one Ray cluster. The token is nowhere else: on no disk and no command line."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(TOKEN_BYTES)}
