"""Which signal saves first, and which ends at once."""

import json
import signal

import pytest

from eduardo.train.run_folder import RunFolder
from eduardo.train.stop_request import StopRequest
from eduardo.verl_adapter.stop import STOP_FILE, write_status


@pytest.fixture
def training(tmp_path):
    write_status(tmp_path, step=3)
    return StopRequest(RunFolder(tmp_path))


def receive(stop, *numbers):
    for number in numbers:
        stop.on_signal(number, None)
    return stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_the_first_signal_asks_for_a_checkpoint(training, number):
    receive(training, number)
    assert not training.now
    request = json.loads((training.folder.path / STOP_FILE).read_text())
    assert request == {"reason": f"{signal.Signals(number).name} received", "failed": False}


def test_the_second_ends_at_once(training):
    assert receive(training, signal.SIGINT, signal.SIGINT).now


def test_the_end_of_a_time_limit_does_not_cut_what_its_warning_began(training):
    assert not receive(training, signal.SIGUSR1, signal.SIGTERM).now
    assert receive(training, signal.SIGTERM).now


def test_before_training_there_is_nothing_to_save(tmp_path):
    stop = receive(StopRequest(RunFolder(tmp_path)), signal.SIGUSR1)
    assert stop.now
    assert not (tmp_path / STOP_FILE).exists()
