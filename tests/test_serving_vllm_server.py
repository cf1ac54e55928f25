"""`vllm serve` as a child process: clear complaints, and nothing left behind when it does not come up."""

from __future__ import annotations

import json
import socket
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from eduardo.errors import UserError
from eduardo.serving import vllm_server

pytestmark = pytest.mark.skipif(
    find_spec("vllm") is None, reason="the training requirements are not installed"
)


@pytest.fixture
def hollow_model(tmp_path: Path) -> Path:
    """A folder that looks like a model to us, and that vLLM cannot serve."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "no-such-type"}))
    return folder


def test_a_folder_without_a_model_is_named_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere holds no model"):
        vllm_server.start(tmp_path / "nowhere", names=["m"], log_file=tmp_path / "log", timeout_s=1)


def test_a_port_in_use_is_named_before_anything_starts(hollow_model: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} is in use"):
            vllm_server.start(hollow_model, names=["m"], log_file=tmp_path / "log", timeout_s=1, port=port)


def test_a_server_that_takes_too_long_is_stopped(hollow_model: Path, tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(UserError, match=r"did not answer in time: .*start_timeout_s allows 0\.1 s"):
        vllm_server.start(hollow_model, names=["m"], log_file=tmp_path / "log", timeout_s=0.1)
    assert set(psutil.Process().children(recursive=True)) <= before


def test_what_a_request_leaves_open_is_not_taken_from_the_models_files_unless_an_option_says_so(
    hollow_model: Path, tmp_path: Path
) -> None:
    options = ["--generation-config", "auto"]
    server = vllm_server.launch(hollow_model, names=["m"], log_file=tmp_path / "log", options=options)
    try:
        command = psutil.Process(server.keeper.pid).cmdline()
    finally:
        server.stop()
    assert command[-4:] == ["--generation-config", "vllm", *options]


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_model_that_vllm_cannot_serve_is_reported_with_its_reason(
    hollow_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"ended before it answered: .*no-such-type"):
        vllm_server.start(hollow_model, names=["m"], log_file=tmp_path / "log", timeout_s=200)
