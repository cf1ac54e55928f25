"""Endpoint files: a served model is found by those who look, and only while it answers."""

from __future__ import annotations

import json
import stat
import threading
import time
from pathlib import Path

import pytest
from llm_servers import endpoint, free_port
from pytest_httpserver import HTTPServer

from eduardo.errors import UserError
from eduardo.llm.key import read_api_key
from eduardo.serving.endpoint_file import PublishedEndpoint, find, private_key_file, published

KEY = "sk-very-secret-0123456789"


def a_student(port: int, **changes: object) -> PublishedEndpoint:
    facts = {
        "role": "student",
        "host": "127.0.0.1",
        "port": port,
        "model": "llama",
        "source": "hub/llama",
        "max_model_len": 2048,
        "api_key_file": "student.key",
        "pid": 1,
        "started": "2026-01-01T00:00:00+00:00",
    }
    return PublishedEndpoint(**{**facts, **changes})


def looked_up(folder: Path, model: str = "llama", wait_s: float = 0, **settings: object):
    asked = endpoint(f"published:{folder}", **settings).model_copy(update={"model": model})
    return find(asked, "student", config_key="classroom.student", wait_s=wait_s)


@pytest.fixture
def port(httpserver: HTTPServer) -> int:
    """Of a server that says it is healthy."""
    httpserver.expect_request("/health").respond_with_data("")
    return httpserver.port


def test_a_published_server_is_found_with_its_key(tmp_path: Path, port: int) -> None:
    with (
        private_key_file(tmp_path, "student.key", KEY) as key_file,
        published(tmp_path, a_student(port)) as file,
    ):
        found = looked_up(tmp_path)

        assert found.base_url == f"http://127.0.0.1:{port}/v1"
        assert read_api_key(found) == KEY
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
        assert KEY not in file.read_text()

    assert list(tmp_path.iterdir()) == []


def test_the_files_go_when_the_server_fails(tmp_path: Path, port: int) -> None:
    with (
        pytest.raises(RuntimeError),
        private_key_file(tmp_path, "student.key", KEY),
        published(tmp_path, a_student(port)),
    ):
        raise RuntimeError

    assert list(tmp_path.iterdir()) == []


def test_an_address_that_is_given_is_not_looked_up() -> None:
    given = endpoint("http://127.0.0.1:1/v1")

    assert find(given, "student", config_key="classroom.student") is given


def test_a_key_of_ones_own_is_kept(tmp_path: Path, port: int) -> None:
    with published(tmp_path, a_student(port)):
        assert looked_up(tmp_path, api_key_env="MINE").api_key_file is None


def test_without_a_server_the_message_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no student server is published in .*eduardo\.serve student"):
        looked_up(tmp_path / "nowhere")


def test_the_file_of_a_dead_server_is_named(tmp_path: Path) -> None:
    with (
        published(tmp_path, a_student(free_port())) as file,
        pytest.raises(
            UserError, match=rf"{file}: the student server at 127.* does not answer: .*delete this file"
        ),
    ):
        looked_up(tmp_path)


def test_a_dead_server_does_not_hide_a_living_one(tmp_path: Path, port: int) -> None:
    with published(tmp_path, a_student(free_port())), published(tmp_path, a_student(port)):
        assert looked_up(tmp_path).base_url.endswith(f":{port}/v1")


def test_two_living_servers_must_be_chosen_from(tmp_path: Path, port: int) -> None:
    with (
        published(tmp_path, a_student(port)),
        published(tmp_path, a_student(port, host="localhost")),
        pytest.raises(UserError, match=r"2 student servers answer .*stop all but one.*student\.api_key_file"),
    ):
        looked_up(tmp_path)


def test_another_model_than_the_configured_one_is_refused(tmp_path: Path, port: int) -> None:
    with (
        published(tmp_path, a_student(port)),
        pytest.raises(UserError, match=r"serves 'llama', but classroom\.student\.model=qwen: .*model=llama"),
    ):
        looked_up(tmp_path, model="qwen")


def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "student-x.json").write_text(json.dumps({"role": "student"}))

    with pytest.raises(UserError, match=r"student-x\.json: no endpoint file .*delete it"):
        looked_up(tmp_path)


def test_a_server_that_comes_up_later_is_awaited(tmp_path: Path, port: int) -> None:
    stop = threading.Event()

    def serve_later() -> None:
        time.sleep(0.3)
        with published(tmp_path, a_student(port)):
            stop.wait(30)

    server = threading.Thread(target=serve_later)
    server.start()
    try:
        assert looked_up(tmp_path, wait_s=30).base_url.endswith(f":{port}/v1")
    finally:
        stop.set()
        server.join()
