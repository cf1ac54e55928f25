"""A real Slurm cluster on this machine: one controller and some nodes, with daemons, ports and state of its own.

    python tests/slurm/sandbox.py            # runs until Ctrl-C; prints what to export so that sbatch finds it

Nodes are called n1, n2, ... All live on this host, and each has four pretend GPUs (files that do nothing), so that
`--gpus-per-node` and CUDA_VISIBLE_DEVICES work as on a GPU cluster. Needs Debian's slurm-wlm and munge.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "squeue")
START_S = 180
COMMAND_S = 900  # `sbatch --wait` lasts as long as its job
KILL_WAIT_S = (
    60  # between SIGTERM and SIGKILL of a cancelled job; Slurm's default of 30 is for unloaded machines
)

CONFIG = """\
ClusterName=sandbox
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket,cred_expire=15
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
KillWait={kill_wait_s}
MessageTimeout=60
GresTypes=gpu
{nodes}
PartitionName=normal Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=FORCE:4 State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=8000 Gres=gpu:4"


def missing_programs() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name) is None]


class SlurmSandbox:
    """Context manager. `env` is the environment in which sbatch and the other commands find this cluster."""

    def __init__(self, num_nodes: int = 2) -> None:
        self.nodes = [f"n{number}" for number in range(1, num_nodes + 1)]
        self.root = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.env = {**_without_slurm(os.environ), "SLURM_CONF": str(self.root / "slurm.conf")}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> SlurmSandbox:
        try:
            self._configure()
            self._start_munge()
            self._start("slurmctld", ["slurmctld", "-D"])
            for name in self.nodes:
                self._start(name, ["slurmd", "-D", "-N", name])
            self._wait_for_nodes()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for daemon in reversed(self._daemons.values()):
            daemon.send_signal(signal.SIGCONT)
            daemon.terminate()
        for daemon in self._daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """Standard output of a Slurm command."""
        done = subprocess.run(
            command, env=self.env, cwd=cwd, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout.strip()

    def freeze(self, node: str) -> None:
        """The node hangs: it is in the cluster, but nothing starts there."""
        self._daemons[node].send_signal(signal.SIGSTOP)

    def thaw(self, node: str) -> None:
        self._daemons[node].send_signal(signal.SIGCONT)

    def _configure(self) -> None:
        (self.root / "state").mkdir()
        host, ports = socket.gethostname().partition(".")[0], _free_ports(len(self.nodes) + 1)
        for name in self.nodes:
            (self.root / f"spool-{name}").mkdir()
        for number in range(4):
            (self.root / f"gpu{number}").touch()
        nodes = [NODE.format(name=n, host=host, port=p) for n, p in zip(self.nodes, ports[1:], strict=True)]
        config = CONFIG.format(
            host=host,
            control_port=ports[0],
            root=self.root,
            user=getpass.getuser(),
            nodes="\n".join(nodes),
            kill_wait_s=KILL_WAIT_S,
        )
        (self.root / "slurm.conf").write_text(config)
        (self.root / "gres.conf").write_text(f"Name=gpu File={self.root}/gpu[0-3]\n")

    def _start_munge(self) -> None:
        key = self.root / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.root.chmod(0o755)
        names = {
            "key-file": "key",
            "log-file": "log",
            "pid-file": "pid",
            "seed-file": "seed",
            "socket": "socket",
        }
        files = [f"--{option}={self.root}/munge.{end}" for option, end in names.items()]
        self._start("munged", ["munged", "--foreground", "--force", *files])
        _wait_until((self.root / "munge.socket").exists, "munged")

    def _start(self, name: str, command: list[str]) -> None:
        with (self.root / f"{name}.out").open("wb") as out:
            self._daemons[name] = subprocess.Popen(
                command, env=self.env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _wait_for_nodes(self) -> None:
        def all_idle() -> bool:
            command = ["sinfo", "--noheader", "--Node", "--states=idle", "--format=%N"]
            done = subprocess.run(
                command, env=self.env, capture_output=True, text=True, timeout=COMMAND_S, check=False
            )
            return set(done.stdout.split()) == set(self.nodes)

        _wait_until(all_idle, f"Slurm (logs in {self.root})")


def _wait_until(condition: object, what: str) -> None:
    deadline_s = time.monotonic() + START_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline_s, f"{what} did not come up within {START_S} s"
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _without_slurm(environment: os._Environ[str]) -> dict[str, str]:
    """The tests may themselves run in a job."""
    return {k: v for k, v in environment.items() if not k.startswith(("SLURM_", "SBATCH_", "SRUN_"))}


if __name__ == "__main__":
    with SlurmSandbox() as sandbox:
        print(f"export SLURM_CONF={sandbox.env['SLURM_CONF']}", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
