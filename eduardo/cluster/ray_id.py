"""Which processes on a node belong to a run's own Ray.

Ray's daemons bear an id beside the run's: the training process, which ends all that bears the run's id, must not take
Ray away from under the command that watches both. Ray's workers get the run's id from the training process.
"""

from __future__ import annotations

from collections.abc import Mapping

from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE, kill_run


def daemon_env(env: Mapping[str, str]) -> dict[str, str]:
    """Environment of Ray's daemons, made from the run's."""
    return {**env, RUN_ID_VARIABLE: _daemon_id(env[RUN_ID_VARIABLE])}


def kill_ray(run_id: str) -> None:
    """Kill the run's Ray on this node, and whatever else bears the run's id here."""
    kill_run(_daemon_id(run_id))
    kill_run(run_id)


def _daemon_id(run_id: str) -> str:
    return f"{run_id}-ray"
