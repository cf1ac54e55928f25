"""When a training goes back into the queue, and when not: never for ever."""

import os
import stat

import pytest
from rich.console import Console

from eduardo.config import compose, validate
from eduardo.errors import UserError
from eduardo.serving.endpoint_file import private_key_file
from eduardo.train.requeue import doubt, requeue_at_time_limit, requeue_without_servers, servers_that_left


@pytest.fixture
def scontrol(tmp_path, monkeypatch):
    """A `scontrol` that notes what it is asked, in job 7; returns its notes."""
    asked, program = tmp_path / "asked", tmp_path / "scontrol"
    program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    return asked


def test_a_time_limit_without_a_step_ends_the_job(scontrol):
    with pytest.raises(UserError, match="job 7 is not requeued"):
        requeue_at_time_limit(Console(), progress=False)
    assert not scontrol.exists()
    requeue_at_time_limit(Console(), progress=True)
    assert scontrol.read_text() == "requeue 7\n"


def test_a_container_without_scontrol_is_told_at_the_start(scontrol, tmp_path, monkeypatch):
    assert doubt(wanted=True) is None
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "no `scontrol` here" in doubt(wanted=True)
    assert doubt(wanted=False) is None


def test_requeue_needs_a_job(tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(UserError, match="no Slurm job"):
        requeue_at_time_limit(Console(), progress=True)
    with pytest.raises(UserError, match="no Slurm job"):
        requeue_without_servers(Console(), tmp_path, step=1, limit=3)


def test_servers_that_leave_again_and_again_end_the_job_unless_steps_are_done(scontrol, tmp_path):
    for step in (5, 5, 9, 9):
        requeue_without_servers(Console(), tmp_path, step=step, limit=2)
    assert scontrol.read_text() == "requeue 7\n" * 4
    with pytest.raises(UserError, match=r"left 3 times at step 9 .*max_requeues_without_step=2"):
        requeue_without_servers(Console(), tmp_path, step=9, limit=2)
    assert scontrol.read_text() == "requeue 7\n" * 4


def classrooms(folder, url, key_file):
    """What was configured, and what was found when the run started."""
    wanted = validate(compose(["classroom=vllm"])).classroom
    published = {"base_url": f"published:{folder}"}
    found = {"base_url": url, "api_key_file": str(key_file)}
    roles = ("student", "judge")
    both = [
        wanted.model_copy(update={role: getattr(wanted, role).model_copy(update=update) for role in roles})
        for update in (published, found)
    ]
    return both[0], both[1]


def test_a_published_server_has_left_when_its_key_is_gone_or_nobody_answers(tmp_path, httpserver):
    httpserver.expect_request("/health").respond_with_data("")
    with private_key_file(tmp_path, "a.key", "secret") as key_file:
        wanted, found = classrooms(tmp_path, httpserver.url_for("/v1"), key_file)
        assert servers_that_left(wanted, found) == []
        httpserver.clear()
        httpserver.expect_request("/health").respond_with_data("", status=503)
        assert servers_that_left(wanted, found) == ["student", "judge"]
        httpserver.clear()
        httpserver.expect_request("/health").respond_with_data("")
    assert servers_that_left(wanted, found) == ["student", "judge"]  # another server took its place


def test_a_server_at_a_fixed_address_cannot_be_found_elsewhere(tmp_path):
    _, found = classrooms(tmp_path, "http://127.0.0.1:9/v1", tmp_path / "a.key")
    assert servers_that_left(found, found) == []
