"""Where a run takes place: on this machine, on the nodes of a Slurm job, or in a Ray cluster that is there already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from eduardo.cluster import Job, NodeResources, RayCluster, current_job, node_address
from eduardo.config import ClusterSettings
from eduardo.errors import UserError
from eduardo.serving.address import own_address
from eduardo.serving.vllm_server import LOOPBACK


class Placement:
    """`host` is the address of this machine at which all nodes of the run reach it."""

    def __init__(self, config: DictConfig, settings: ClusterSettings) -> None:
        """Raises UserError when there are fewer nodes than `trainer.nnodes`, or servers that they cannot reach."""
        self._settings = settings
        self._resources = _node_resources(config)
        self._num_nodes = int(config.trainer.nnodes)
        _check_joined_ray(config)
        self._job = self._find_job()
        self.host = LOOPBACK
        if self._job is not None:
            self._others = self._job.others(self._num_nodes)
            self.host = settings.head_address or own_address(node_address(self._others[0]))

    def _find_job(self) -> Job | None:
        """The job over whose nodes Ray has to be brought up."""
        if "RAY_ADDRESS" in os.environ or self._num_nodes == 1:
            return None
        job = current_job()
        if job is None:
            raise UserError(
                f"trainer.nnodes={self._num_nodes} needs a Slurm job of so many nodes (sbatch scripts/train.sbatch) "
                "or a running Ray cluster (RAY_ADDRESS)"
            )
        return job

    def ray_cluster(self, env: Mapping[str, str], log: Path) -> RayCluster | None:
        """Ray over the job's nodes; None where verl starts Ray itself or joins what is there."""
        if self._job is None:
            return None
        return RayCluster(
            self._job.here,
            self._others,
            host=self.host,
            temp_root=self._settings.temp_dir,
            join_timeout_s=self._settings.join_timeout_s,
            resources=self._resources,
            env=env,
            log=log,
        )


def _check_joined_ray(config: DictConfig) -> None:
    """In a Ray that is there already, a run's own servers are on this machine's loopback, and all GPUs are Ray's."""
    kind = OmegaConf.select(config, "classroom.server.kind", default="none")
    if "RAY_ADDRESS" not in os.environ or kind == "none":
        return
    if kind == "vllm_colocated" or int(config.trainer.nnodes) > 1:
        raise UserError(
            f"classroom.server.kind={kind} does not go with RAY_ADDRESS"
            f"{' on several nodes' if kind != 'vllm_colocated' else ''}: serve student and judge where all nodes reach "
            "them (`python -m eduardo.serve`, then classroom=vllm), or unset RAY_ADDRESS"
        )


def _node_resources(config: DictConfig) -> NodeResources:
    ray_init = config.ray_kwargs.ray_init
    return NodeResources(
        num_gpus=ray_init.get("num_gpus") or int(config.trainer.n_gpus_per_node),
        num_cpus=ray_init.get("num_cpus"),
    )
