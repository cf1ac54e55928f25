"""Ray with a token: a real head, asked by clients with and without it."""

import os
import subprocess
import sys
import time

import pytest

from eduardo.cluster import NodeResources, new_token_env
from eduardo.cluster.network import free_ports
from eduardo.cluster.ray_commands import head_command
from eduardo.serving.address import own_address
from eduardo.verl_adapter.leftovers import RUN_ID_VARIABLE, kill_run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]
CLIENT_S = 240


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """Address and environment of a head."""
    address, port, run_id = own_address(), free_ports(1)[0], f"token-{os.getpid()}"
    folder = f"/tmp/eduardo-{run_id}"
    env = {**os.environ, **new_token_env(), RUN_ID_VARIABLE: run_id}
    resources = NodeResources(num_gpus=1, num_cpus=1)
    command = head_command(address=address, port=port, name="first", temp_dir=folder, resources=resources)
    log = tmp_path_factory.mktemp("ray") / "head.log"
    with log.open("wb") as out:
        child = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield f"{address}:{port}", env
    finally:
        child.kill()
        child.wait()
        kill_run(run_id)
        subprocess.run(["rm", "-rf", folder], check=True)


def test_the_token_lets_a_client_in(head):
    address, env = head
    command = [sys.executable, "-m", "eduardo.cluster.roll_call", *address.split(":"), "first"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=CLIENT_S, check=False)
    assert done.stdout.split() == ["first"], done.stderr


@pytest.mark.parametrize("token", [None, "0" * 64])
def test_a_client_without_the_token_is_refused(head, token, tmp_path):
    address, env = head
    env = {k: v for k, v in env.items() if not k.startswith("RAY_AUTH_")}
    env |= {"HOME": str(tmp_path)}  # where Ray would look for a token
    if token is not None:
        env |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    code = f"import ray; ray.init(address='{address}'); print('let in')"
    log = tmp_path / "client.log"
    with log.open("wb") as out:
        client = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=out, stderr=subprocess.STDOUT)
    deadline_s = time.monotonic() + CLIENT_S
    try:
        while "InvalidAuthToken" not in log.read_text():  # it tries again for a minute
            assert time.monotonic() < deadline_s, log.read_text()
            time.sleep(0.5)
        assert "let in" not in log.read_text()
    finally:
        client.kill()
        client.wait()
