"""How each model is served. Values live in configs/servers/."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eduardo.settings import Count, EnvironmentVariables, NumberAsText, Seconds, Settings

Role = Literal["student", "judge", "tutor"]
ROLES: tuple[Role, ...] = ("student", "judge", "tutor")


class RoleServer(Settings):
    """One `vllm serve`."""

    model: Annotated[str, Field(min_length=1)] | None  # folder or name on the model hub
    served_name: (
        Annotated[str, Field(min_length=1)] | None
    )  # what clients ask for; None: `model` as it is written
    data_parallel: Count  # engines
    tensor_parallel: Count  # GPUs per engine
    max_num_seqs: Count  # sequences at once, per engine
    max_model_len: Count
    prefix_caching: bool
    port: Annotated[int, Field(ge=0, le=65535)]  # 0: any free one
    gpus: NumberAsText | None  # devices as in CUDA_VISIBLE_DEVICES; None: the next free ones
    options: list[str]  # more options of `vllm serve`
    env: EnvironmentVariables

    @property
    def num_gpus(self) -> int:
        return self.data_parallel * self.tensor_parallel

    def vllm_options(self) -> list[str]:
        return [
            *("--data-parallel-size", str(self.data_parallel)),
            *("--tensor-parallel-size", str(self.tensor_parallel)),
            *("--max-num-seqs", str(self.max_num_seqs)),
            *("--max-model-len", str(self.max_model_len)),
            "--enable-prefix-caching" if self.prefix_caching else "--no-enable-prefix-caching",
            *self.options,
        ]


class Servers(Settings):
    gpu_variable: str | None  # environment variable that says which devices are visible; None: no GPUs
    start_timeout_s: Seconds  # of one server, weights that are fetched included
    student: RoleServer
    judge: RoleServer
    tutor: RoleServer


class ServeSettings(Settings):
    """configs/serve.yaml."""

    servers: Servers
    endpoints_dir: Annotated[str, Field(min_length=1)]
    log_dir: Annotated[str, Field(min_length=1)]
    bind_host: Annotated[str, Field(min_length=1)]
    advertised_host: Annotated[str, Field(min_length=1)] | None  # None: this machine's address on its network
    api_key_env: (
        Annotated[str, Field(min_length=1)] | None
    )  # variable that holds the key; None: a new key per server
