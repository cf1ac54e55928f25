"""Ray over the nodes of a Slurm job, without anybody else being able to use it."""

from eduardo.cluster.auth import new_token_env
from eduardo.cluster.nodes import NodeFault, RayCluster
from eduardo.cluster.ray_commands import NodeResources
from eduardo.cluster.ray_id import kill_ray
from eduardo.cluster.signals import sigterm_blocked
from eduardo.cluster.slurm import Job, SlurmError, current_job, node_address, requeue

__all__ = [
    "Job",
    "NodeFault",
    "NodeResources",
    "RayCluster",
    "SlurmError",
    "current_job",
    "kill_ray",
    "new_token_env",
    "node_address",
    "requeue",
    "sigterm_blocked",
]
