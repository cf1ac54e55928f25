"""Which GPUs each server gets."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from eduardo.errors import UserError
from eduardo.serving.settings import Role, RoleServer, Servers

_ASK_TIMEOUT_S = 30


def visible_gpus(variable: str) -> list[str] | None:
    """Devices that this process may use, as its environment variable names them; None where nobody can tell."""
    value = os.environ.get(variable)
    if value is not None:
        return [name.strip() for name in value.split(",") if name.strip()]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, "--list-gpus"], capture_output=True, text=True, timeout=_ASK_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = [line for line in done.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number in range(len(found))] if done.returncode == 0 else None


def split_gpus(roles: Sequence[Role], servers: Servers, *, num_kept: int = 0) -> dict[Role, str | None]:
    """Value of the device variable for each role; None leaves the server's environment as it is.

    The first `num_kept` visible devices are nobody's here. A role whose `gpus` is set gets just those, shared or not;
    the others take the next free ones in order. Raises UserError when there are too few.
    """
    asked: dict[Role, RoleServer] = {role: getattr(servers, role) for role in roles}
    if servers.gpu_variable is None:
        return dict.fromkeys(roles)
    visible = visible_gpus(servers.gpu_variable)
    chosen = {name for server in asked.values() for name in (server.gpus or "").split(",")}
    free = None if visible is None else [name for name in visible[num_kept:] if name not in chosen]
    needed = {role: server.num_gpus for role, server in asked.items() if server.gpus is None}
    if free is None and needed and (len(roles) > 1 or num_kept):
        raise UserError(
            f"cannot tell which GPUs there are: export {servers.gpu_variable}, or set servers.ROLE.gpus for every role"
        )
    if free is not None and sum(needed.values()) > len(free):
        wants = ", ".join(f"{role} {number}" for role, number in needed.items())
        raise UserError(
            f"GPUs needed: {wants} (data_parallel × tensor_parallel); free here: {len(free)}"
            f"{f' beside the {num_kept} of the policy' if num_kept else ''}: lower servers.ROLE.data_parallel, or "
            "give each role a job of its own"
        )
    taken = iter(free or [])
    split: dict[Role, str | None] = {}
    for role, server in asked.items():
        if server.gpus is not None:
            split[role] = server.gpus
        elif free is None:
            split[role] = None
        else:
            split[role] = ",".join(next(taken) for _ in range(server.num_gpus))
    return split
