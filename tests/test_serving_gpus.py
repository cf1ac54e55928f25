"""Each server gets GPUs of its own, and the policy keeps the first ones."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from eduardo.config import compose
from eduardo.errors import UserError
from eduardo.serving.gpus import split_gpus
from eduardo.serving.settings import Servers


def shipped(*overrides: str) -> Servers:
    config = OmegaConf.to_container(compose(list(overrides), config_name="serve"), resolve=True)
    return Servers.model_validate(config["servers"])


@pytest.fixture(autouse=True)
def eight_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7")


def test_the_recipe_sizes_fill_eight_gpus() -> None:
    assert split_gpus(["student", "judge"], shipped()) == {"student": "0,1,2,3", "judge": "4,5,6,7"}


def test_the_policy_keeps_the_first_ones() -> None:
    servers = shipped("servers.student.data_parallel=2", "servers.judge.data_parallel=1")

    assert split_gpus(["student", "judge"], servers, num_kept=4) == {"student": "4,5", "judge": "6,7"}


def test_devices_are_the_ones_that_the_job_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")

    assert split_gpus(["student"], shipped("servers.student.data_parallel=2")) == {"student": "GPU-a,GPU-b"}


def test_a_chosen_device_may_be_shared_and_is_not_given_away() -> None:
    servers = shipped("servers.student.gpus='0'", "servers.judge.data_parallel=1")

    assert split_gpus(["student", "judge"], servers) == {"student": "0", "judge": "1,2"}


def test_a_single_device_needs_no_quotes_and_options_are_quoted_for_hydra() -> None:
    servers = shipped("servers.student.gpus=3", 'servers.student.options=["--gpu-memory-utilization=0.8"]')

    assert servers.student.gpus == "3"
    assert servers.student.vllm_options()[-1] == "--gpu-memory-utilization=0.8"


def test_servers_with_chosen_devices_need_no_list_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", "")
    servers = shipped("servers.student.gpus='0,1'", "servers.judge.gpus=2")

    assert split_gpus(["student", "judge"], servers, num_kept=1) == {"student": "0,1", "judge": "2"}


def test_too_few_are_refused_with_what_is_needed() -> None:
    with pytest.raises(
        UserError, match=r"needed: student 4, judge 4 .*free here: 4 beside the 4 of the policy"
    ):
        split_gpus(["student", "judge"], shipped(), num_kept=4)


def test_several_servers_without_any_known_device_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", "")

    with pytest.raises(UserError, match="export CUDA_VISIBLE_DEVICES"):
        split_gpus(["student", "judge"], shipped())


def test_one_server_is_left_to_vllm_where_no_device_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", "")

    assert split_gpus(["student"], shipped()) == {"student": None}


def test_nothing_is_split_without_gpus() -> None:
    assert split_gpus(["student", "judge"], shipped("servers=cpu")) == {"student": None, "judge": None}


def test_the_shipped_servers_are_those_of_the_published_runs() -> None:
    servers = shipped()

    assert servers.student.vllm_options() == [
        *("--data-parallel-size", "4"),
        *("--tensor-parallel-size", "1"),
        *("--max-num-seqs", "256"),
        *("--max-model-len", "32768"),
        "--enable-prefix-caching",
    ]
    assert (servers.judge.data_parallel, servers.judge.tensor_parallel) == (2, 2)
    assert servers.judge.max_model_len == 32768 and servers.judge.prefix_caching
