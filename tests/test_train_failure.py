"""The one line of a long log that says why a run ended."""

import pytest

from eduardo.train.failure import MAX_CHARS, RunStatus, error_line, read_status

NOISE = "step:1 - loss:0.5\nWARNING no Error here\n"


@pytest.fixture
def log(tmp_path):
    def write(text):
        path = tmp_path / "train.log"
        path.write_text(text)
        return path

    return write


def test_the_last_exception_is_the_reason(log):
    assert error_line(
        log(f"{NOISE}ValueError: first\n{NOISE}torch.OutOfMemoryError: no memory\n{NOISE}")
    ) == (
        "OutOfMemoryError",
        "no memory",
    )


def test_colours_and_prefixes_of_workers_are_stripped(log):
    line = "\x1b[36m(WorkerDict pid=123)\x1b[0m RuntimeError: worker died\n"
    assert error_line(log(line)) == ("RuntimeError", "worker died")


def test_the_wrapper_that_ray_puts_around_an_exception_is_passed_over(log):
    text = "KeyError: 'reward'\nray.exceptions.RayTaskError(KeyError): \x1b[36mray::fit()\x1b[0m (pid=1)\n"
    assert error_line(log(text)) == ("KeyError", "'reward'")


def test_an_earlier_run_in_the_same_log_is_not_blamed(log):
    path = log("ValueError: yesterday\n")
    start = path.stat().st_size
    path.write_text(path.read_text() + NOISE)
    assert error_line(path, start=start) is None


def test_a_log_without_exception_has_no_reason(log):
    assert error_line(log(NOISE)) is None


def test_a_long_message_is_cut(log):
    _, text = error_line(log(f"ValueError: {'x' * 10_000}\n"))
    assert len(text) == MAX_CHARS


def test_the_trainers_own_word_is_read(tmp_path):
    assert read_status(tmp_path / "status.json") is None
    (tmp_path / "status.json").write_text('{"step": 3, "reason": "void", "failed": true}')
    assert read_status(tmp_path / "status.json") == RunStatus(step=3, reason="void", failed=True)
