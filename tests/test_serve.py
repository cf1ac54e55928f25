"""`eduardo serve`: what it refuses before anything starts, and the address that it publishes."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from eduardo.errors import UserError
from eduardo.serve import main, slurm_address
from eduardo.serving.address import own_address
from eduardo.serving.usage import has_answered


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["teacher"], "name each server once, first of all: student, judge, tutor"),
        (["student", "student"], "name each server once"),
        (["student", "judge", "models/x"], "cannot read 'models/x': one CHECKPOINT goes with one role"),
        (["student", "models/x", "models/y"], "cannot read 'models/y'"),
        (["tutor", "servers=cpu"], "servers.tutor.model is not set"),
        (["tutor", "models/nowhere", "servers=cpu"], "models/nowhere holds no model"),
        (["student", "servers=cpu", "servers.student.model=/a/b c"], "/a/b c holds no model"),
        (["tutor", "models/o'neil", "servers=cpu"], "models/o'neil holds no model"),
        (["tutor", "runs/lr=1e-5", "servers=cpu"], "runs/lr=1e-5 holds no model"),
        (["student", "servers.student.data_parallel=0"], "servers.student.data_parallel=0: input should be"),
        (["student", "servers.student.replicas=2"], "unknown key servers.student.replicas"),
        (
            ["student", "servers=cpu", "api_key_env=NO_KEY_HERE"],
            "environment variable NO_KEY_HERE .* no API key",
        ),
    ],
)
def test_bad_input_is_one_clear_message(arguments: list[str], expected: str, tmp_path: Path) -> None:
    folders = [f"endpoints_dir={tmp_path / 'endpoints'}", f"log_dir={tmp_path / 'logs'}"]
    with pytest.raises(UserError, match=expected):
        main([*arguments, *folders])
    assert not list(tmp_path.glob("endpoints/*"))


def test_a_key_of_ones_own_that_is_odd_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OWN_KEY", "two words")
    with pytest.raises(UserError, match="OWN_KEY") as caught:
        main(["student", "servers=cpu", "api_key_env=OWN_KEY", f"endpoints_dir={tmp_path}"])
    assert "two words" not in str(caught.value)


def test_the_address_is_one_of_this_machine_and_needs_no_name_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_names(*_: object) -> None:
        raise AssertionError("a name was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", no_names)
    monkeypatch.setattr(socket, "gethostbyname", no_names)
    address = own_address()
    assert ipaddress.ip_address(address).version == 4
    with socket.socket() as probe:
        probe.bind((address, 0))


def test_the_route_to_the_slurm_node_counts_first(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = own_address()
    monkeypatch.setenv("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1")
    assert own_address() == elsewhere  # loopback is no way to other nodes


def test_in_a_slurm_job_the_address_is_the_one_that_slurm_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "scontrol").write_text('#!/bin/sh\necho "NodeName=$3 NodeAddr=10.9.8.7 Port=1"\n')
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    assert slurm_address() is None
    monkeypatch.setenv("SLURMD_NODENAME", "gpu01")
    assert slurm_address() == "10.9.8.7"
    monkeypatch.setenv("PATH", "")  # as in a container
    assert slurm_address() is None


def test_a_server_was_of_use_when_it_finished_a_request(httpserver: HTTPServer) -> None:
    text = 'vllm:request_success_total{engine="0",finished_reason="stop",model_name="a"} %s\n'
    authorized = {"Authorization": "Bearer secret"}
    httpserver.expect_ordered_request("/metrics", headers=authorized).respond_with_data(text % "0.0")
    httpserver.expect_ordered_request("/metrics", headers=authorized).respond_with_data(text % "3.0")

    assert not has_answered(httpserver.url_for("/v1"), "secret")
    assert has_answered(httpserver.url_for("/v1"), "secret")
    assert not has_answered("http://127.0.0.1:9/v1", "secret")
