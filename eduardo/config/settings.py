"""Typed view of the parts of the run configuration that are ours; verl checks its own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from eduardo.config.environments import EnvironmentSettings
from eduardo.personas import persona_names
from eduardo.planning.settings import PlanningSettings
from eduardo.serving.settings import Servers
from eduardo.settings import (
    Count,
    EndpointSettings,
    EnvironmentVariables,
    GraderSettings,
    RecipeSettings,
    RubricSettings,
    Seconds,
    Settings,
    Share,
)


class RunSettings(Settings):
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    dir: Annotated[str, Field(min_length=1)]
    seed: Annotated[int, Field(ge=0)]
    resume: Annotated[str, Field(min_length=1)]  # auto, never, or the path of a checkpoint folder
    keep_checkpoints: Count
    logprob_check_freq: Annotated[int, Field(ge=0)]
    stall_timeout_s: Seconds
    poll_interval_s: Seconds
    endpoint_wait_s: Annotated[
        float, Field(ge=0)
    ]  # how long to wait for a student or judge that is not there yet
    env: EnvironmentVariables  # written into the run folder, and verl prints them

    @field_validator("env")
    @classmethod
    def _no_secrets(cls, env: dict[str, str]) -> dict[str, str]:
        secrets = [name for name in env if name.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD"))]
        if secrets:
            raise ValueError(
                f"{', '.join(secrets)} would be written into the run folder: export it in the shell that starts the "
                "training instead"
            )
        return env


class ClusterSettings(Settings):
    """How a run spreads over the nodes of a Slurm job."""

    join_timeout_s: Seconds  # until Ray has all nodes
    head_address: str | None  # of the first node for the others; None: the one on its route to them
    temp_dir: Annotated[str, Field(pattern=r"^/.{0,29}$")]  # on each node; Ray's sockets need a short path
    requeue: bool  # SIGUSR1 (sbatch --signal), or servers that left, put the job back into the queue
    max_requeues_without_step: Annotated[
        int, Field(ge=0)
    ]  # in a row, when servers left before a step was done


class ServerSettings(Settings):
    """A classroom server that the run starts and stops itself."""

    kind: Literal["none", "simulated", "vllm"]
    port: Annotated[int, Field(ge=0, le=65535)]  # 0: any free one
    options: list[str]  # of `python -m eduardo.classroom serve` or `vllm serve MODEL`
    model_path: str | None  # what `vllm serve` loads
    env: EnvironmentVariables  # environment variables of `vllm serve`
    start_timeout_s: Seconds

    @model_validator(mode="after")
    def _vllm_has_a_model(self) -> ServerSettings:
        if (self.kind == "vllm") != (self.model_path is not None):
            raise ValueError("model_path goes with kind=vllm, and only with it")
        return self


class ColocatedServers(Settings):
    """A student and a judge server on this machine, on GPUs that the policy leaves to them."""

    kind: Literal["vllm_colocated"]
    policy_gpus: Annotated[int, Field(ge=0)]  # the first so many visible devices are the policy's
    key_dir: Annotated[str, Field(min_length=1)]  # private files with the servers' keys, while they run
    servers: Servers


class ClassroomSettings(Settings):
    server: Annotated[ServerSettings | ColocatedServers, Field(discriminator="kind")]
    student: EndpointSettings
    judge: EndpointSettings
    personas: dict[str, Annotated[float, Field(ge=0)]] | None  # name → weight in training; None: no persona

    @field_validator("personas")
    @classmethod
    def _known_personas(cls, weights: dict[str, float] | None) -> dict[str, float] | None:
        if weights is None:
            return None
        unknown = sorted(weights.keys() - set(persona_names()))
        if unknown:
            raise ValueError(f"no persona {unknown[0]!r}; there are {', '.join(persona_names())}")
        if not sum(weights.values()) > 0:
            raise ValueError("no persona has a weight above 0; write null for a student without personas")
        return weights


class PreflightSettings(Settings):
    """What is checked before a run starts, and how patiently."""

    enabled: bool
    verl_timeout_s: Seconds
    min_nvidia_driver: Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")]
    endpoint_timeout_s: Seconds
    probe_requests: Count
    max_clock_skew_s: Seconds
    wording_overlap: Share


class TrainSettings(Settings):
    environment: EnvironmentSettings
    recipe: RecipeSettings
    grader: GraderSettings
    classroom: ClassroomSettings
    rubric: RubricSettings
    run: RunSettings
    cluster: ClusterSettings
    preflight: PreflightSettings
    planning: PlanningSettings
