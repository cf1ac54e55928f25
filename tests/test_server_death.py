"""A classroom server of the run's own that ends is told at once, and ends the run with the reason after saving."""

import json
import subprocess

import pytest
from rich.console import Console

from eduardo.classroom.process import ClassroomProcess
from eduardo.serving.vllm_server import VllmServer
from eduardo.serving.watch import ServerWatch
from eduardo.train.run_folder import RunFolder
from eduardo.train.session import _Run
from eduardo.train.stop_request import StopRequest
from eduardo.verl_adapter.stop import STOP_FILE, StopTraining, check_stop, request_stop


@pytest.fixture
def server():
    with ClassroomProcess("", subprocess.Popen(["sleep", "600"], text=True)) as classroom:
        yield classroom


def end(server):
    server.child.kill()
    server.child.wait()


def test_living_servers_are_no_news(server):
    watch = ServerWatch()
    assert watch.death() is None
    watch.add("the simulated classroom", server)
    assert watch.death() is None


def test_a_dead_server_is_named_with_how_it_ended(server):
    watch = ServerWatch()
    watch.add("the simulated classroom", server)
    end(server)
    assert watch.death() == "the simulated classroom ended while the run needed it: exit status -9"


def test_a_dead_vllm_server_is_named_with_its_last_error(tmp_path):
    log = tmp_path / "classroom.log"
    log.write_text("INFO all is well\ntorch.OutOfMemoryError: CUDA out of memory\n")
    keeper = subprocess.Popen(["true"])
    keeper.wait()
    watch = ServerWatch()
    watch.add("the judge's server", VllmServer("", "model", log, keeper))
    assert "CUDA out of memory" in watch.death()


def test_the_run_is_asked_once_to_save_and_to_fail_with_the_reason(tmp_path, server):
    watch = ServerWatch()
    watch.add("the simulated classroom", server)
    folder = RunFolder(tmp_path)
    run = _Run(None, None, folder, StopRequest(folder), Console(), watch)
    assert run._news_of_servers() == []
    end(server)
    (message,) = run._news_of_servers()
    assert message.endswith("the checkpoint is saved first")
    assert run._news_of_servers() == []
    with pytest.raises(StopTraining, match="the simulated classroom ended") as stop:
        check_stop(tmp_path)
    assert stop.value.failed


def test_an_earlier_reason_to_stop_stays(tmp_path, server):
    watch = ServerWatch()
    watch.add("the simulated classroom", server)
    folder = RunFolder(tmp_path)
    assert request_stop(tmp_path, "SIGINT received")
    end(server)
    assert _Run(None, None, folder, StopRequest(folder), Console(), watch)._news_of_servers() == []
    assert json.loads((tmp_path / STOP_FILE).read_text())["reason"] == "SIGINT received"
