"""A run takes over what was found out about its student and judge, and of keys only where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf
from pytest_httpserver import HTTPServer

from eduardo.classroom.launch import policy_environment
from eduardo.config import compose, validate
from eduardo.errors import UserError
from eduardo.llm.key import read_api_key
from eduardo.serving.endpoint_file import PublishedEndpoint, private_key_file, published
from eduardo.serving.watch import ServerWatch
from eduardo.train.services import classroom

KEY = "sk-very-secret-0123456789"


def test_published_servers_become_part_of_the_run_without_their_keys(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    httpserver.expect_request("/health").respond_with_data("")
    monkeypatch.setenv("EDUARDO_ENDPOINTS", str(tmp_path))
    config = compose(["classroom=vllm", "classroom.student.model=s", "classroom.judge.model=j"])
    settings = validate(config)
    facts = {"host": "127.0.0.1", "port": httpserver.port, "source": "x", "max_model_len": 9, "pid": 1}
    student = PublishedEndpoint(role="student", model="s", api_key_file="k", started="now", **facts)
    judge = PublishedEndpoint(role="judge", model="j", api_key_file="k", started="now", **facts)

    with (
        private_key_file(tmp_path, "k", KEY),
        published(tmp_path, student),
        published(tmp_path, judge),
        classroom(config, settings, tmp_path, host="127.0.0.1", watch=ServerWatch()) as found,
    ):
        assert found.classroom.judge.base_url == f"http://127.0.0.1:{httpserver.port}/v1"
        assert read_api_key(found.classroom.student) == KEY
        written = OmegaConf.to_yaml(config)
        assert str(tmp_path / "k") in written and KEY not in written


def test_a_rubric_judge_beside_the_judge_keeps_its_own_key(tmp_path: Path) -> None:
    config = compose(
        [
            *("classroom=vllm", "classroom.student.base_url=http://127.0.0.1:9/v1"),
            *("classroom.judge.base_url=http://127.0.0.1:9/v1", "classroom.judge.api_key_env=JUDGE"),
            *("rubric=judge", "rubric.judge.api_key_env=OWN"),
        ]
    )
    settings = validate(config)
    with classroom(config, settings, tmp_path, host="127.0.0.1", watch=ServerWatch()) as found:
        assert found.rubric.judge is not None and found.rubric.judge.api_key_env == "OWN"
        assert found.classroom.judge.api_key_env == "JUDGE"


def test_servers_of_the_run_itself_leave_the_policy_its_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7")
    config = compose(["classroom=vllm_colocated", "hardware=one_gpu", "trainer.n_gpus_per_node=2"])

    assert policy_environment(validate(config).classroom) == {"CUDA_VISIBLE_DEVICES": "0,1"}


def test_servers_of_the_run_itself_are_for_one_machine() -> None:
    with pytest.raises(UserError, match=r"vllm_colocated runs on one machine, but trainer\.nnodes=2: serve"):
        validate(compose(["classroom=vllm_colocated", "hardware=slurm_2x4"]))
