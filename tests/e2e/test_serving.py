"""`vllm serve` for real: published, found, locked, and gone without a trace when it is told to stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from omegaconf import OmegaConf
from tiny_model import write_tiny_model

from eduardo.classroom.launch import running_classroom
from eduardo.config import ClassroomSettings, compose
from eduardo.dataset.rows import to_row, write_rows
from eduardo.llm import ChatClient
from eduardo.records import read_dialogues
from eduardo.settings import EndpointSettings
from eduardo.types import ItemKind, Problem, SolveRate, TestItem, TransferPair

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

START_S = 500  # of a machine that does other things too
SMALL = [
    "{0}=cpu",
    "{1}.student.max_model_len=512",
    "{1}.student.served_name=tiny-student",
    "{1}.judge.served_name=tiny-judge",
]
QUESTION = [{"role": "user", "content": "What is 2 + 3 ?"}]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


class Serving:
    """`python -m eduardo.serve student judge` as a user runs it."""

    def __init__(self, workplace: Path, model: Path) -> None:
        self.endpoints, self.logs = workplace / "endpoints", workplace / "logs"
        self.output = workplace / "serve.out"
        command = [sys.executable, "-m", "eduardo.serve", "student", "judge"]
        command += [text.format("servers", "servers") for text in SMALL]
        command += [
            f"servers.student.model={model}",
            f"endpoints_dir={self.endpoints}",
            f"log_dir={self.logs}",
        ]
        with self.output.open("wb") as out:
            self.child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        self.command = command

    def wait(self) -> None:
        deadline_s = time.monotonic() + START_S
        while len(list(self.endpoints.glob("*.json"))) < 2:
            assert self.child.poll() is None, self.output.read_text()
            assert time.monotonic() < deadline_s, self.output.read_text()
            time.sleep(0.5)
        self.family = psutil.Process(self.child.pid).children(recursive=True)

    def facts(self, role: str) -> dict[str, Any]:
        (file,) = self.endpoints.glob(f"{role}-*.json")
        facts: dict[str, Any] = json.loads(file.read_text())
        return facts

    def stop(self) -> int:
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(120)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Serving]:
    servers = Serving(tmp_path_factory.mktemp("serving"), tiny_model)
    try:
        servers.wait()
        yield servers
    finally:
        servers.stop()


def classroom_settings(*overrides: str) -> ClassroomSettings:
    config = OmegaConf.to_container(compose(overrides, config_name="evaluate"), resolve=True)
    assert isinstance(config, dict)
    return ClassroomSettings.model_validate(config["classroom"])


def ask(endpoint: EndpointSettings) -> int:
    """Number of tokens of an answer."""

    async def call() -> int:
        async with ChatClient(endpoint) as client:
            await client.check(config_key="classroom", min_context_tokens=512)
            (answer,) = await client.complete(QUESTION, temperature=1.0, max_tokens=8, seed=1)
            return answer.num_tokens or 0

    return asyncio.run(call())


def status_of(url: str, key: str | None = None, body: bytes | None = None) -> int:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_training_finds_the_servers_by_itself(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("EDUARDO_STUDENT_URL", "EDUARDO_JUDGE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("EDUARDO_ENDPOINTS", str(serving.endpoints))
    settings = classroom_settings(
        "classroom=vllm", "classroom.student.model=tiny-student", "classroom.judge.model=tiny-judge"
    )
    with running_classroom(settings, log_dir=serving.logs) as found:
        assert ask(found.student) > 0 and ask(found.judge) > 0
    assert serving.facts("student")["max_model_len"] == 512


def test_nothing_but_health_answers_without_the_key(serving: Serving) -> None:
    facts = serving.facts("student")
    root = f"http://{facts['host']}:{facts['port']}"
    key = (serving.endpoints / facts["api_key_file"]).read_text().strip()
    chat = json.dumps({"model": "tiny-student", "messages": QUESTION, "max_tokens": 1}).encode()

    assert status_of(f"{root}/health") == 200
    for path, body in (
        ("/v1/models", None),
        ("/v1/chat/completions", chat),
        ("/invocations", chat),
        ("/metrics", None),
    ):
        assert status_of(root + path, body=body) == 401, path
        assert status_of(root + path, key="wrong", body=body) == 401, path
        assert status_of(root + path, key=key, body=body) == 200, path


def test_the_key_is_in_a_private_file_and_nowhere_else(serving: Serving) -> None:
    keys = []
    for role in ("student", "judge"):
        file = serving.endpoints / serving.facts(role)["api_key_file"]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        keys.append(file.read_text().strip())
    commands = [" ".join(process.cmdline()) for process in serving.family]
    logs = [path.read_text(errors="replace") for path in [*serving.logs.iterdir(), serving.output]]
    others = [path.read_text() for path in serving.endpoints.glob("*.json")]

    assert len(set(keys)) == 2 and len(serving.family) >= 4 and len(logs) == 3
    for text in [*commands, *logs, *others]:
        assert not any(key in text for key in keys)


def test_servers_of_the_run_itself_answer_and_end_with_it(tiny_model: Path, tmp_path: Path) -> None:
    group = "servers@classroom.server.servers"
    settings = classroom_settings(
        "classroom=vllm_colocated",
        *(text.format(group, "classroom.server.servers") for text in SMALL),
        f"classroom.server.servers.student.model={tiny_model}",
        f"classroom.server.key_dir={tmp_path / 'keys'}",
    )
    before = set(psutil.Process().children(recursive=True))
    with running_classroom(settings, log_dir=tmp_path / "run") as running:
        assert ask(running.student) > 0 and ask(running.judge) > 0
        assert running.student.base_url != running.judge.base_url
        key = Path(str(running.student.api_key_file)).read_text().strip()
    assert set(psutil.Process().children(recursive=True)) <= before
    assert list((tmp_path / "keys").iterdir()) == []
    assert all(key not in path.read_text(errors="replace") for path in (tmp_path / "run").iterdir())


def test_sigterm_ends_the_servers_and_removes_their_files(serving: Serving) -> None:
    assert serving.stop() == 128 + signal.SIGTERM, serving.output.read_text()
    gone, alive = psutil.wait_procs(serving.family, timeout=30)
    assert alive == [] and gone
    assert list(serving.endpoints.iterdir()) == []


def test_a_person_talks_with_a_served_tutor(tiny_model: Path, tmp_path: Path) -> None:
    """Found through its endpoint file, and asked for token ids as in training."""
    write_problem(tmp_path / "test.parquet")
    environment = {**os.environ, "EDUARDO_ENDPOINTS": str(tmp_path / "endpoints")}
    serve = [sys.executable, "-m", "eduardo.serve", "tutor", str(tiny_model), "servers=cpu"]
    serve += ["servers.tutor.max_model_len=1024", f"log_dir={tmp_path / 'logs'}"]
    with (tmp_path / "serve.out").open("wb") as out:
        server = subprocess.Popen(serve, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        deadline_s = time.monotonic() + START_S
        while not list((tmp_path / "endpoints").glob("tutor-*.json")):
            assert server.poll() is None and time.monotonic() < deadline_s, (
                tmp_path / "serve.out"
            ).read_text()
            time.sleep(0.5)
        chat = [sys.executable, "-m", "eduardo.chat", f"data_file={tmp_path / 'test.parquet'}"]
        chat += ["recipe.dialogue.tutor_turn_tokens=8", "recipe.dialogue.response_tokens=256"]
        chat += [f"out_dir={tmp_path / 'chat'}", "--save", str(tmp_path / "d.jsonl")]
        done = subprocess.run(
            chat,
            env=environment,
            input="Hm.\nHm.\n/end\n",
            capture_output=True,
            text=True,
            timeout=START_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(120)
    (scored,) = read_dialogues(tmp_path / "d.jsonl")
    assert len(scored.transcript.tutor_turns) == 3
    assert all(turn.tokens is not None for turn in scored.transcript.tutor_turns)


def write_problem(path: Path) -> None:
    rate = SolveRate(value=0.25, num_graded=16)
    source = Problem(text="What is 2 + 3 ?", answer="5")
    variant = Problem(text="What is 3 + 4 ?", answer="7")
    pair = TransferPair(
        id="p1",
        source=TestItem(problem=source, baseline=rate, kind=ItemKind.SOURCE),
        variant=TestItem(problem=variant, baseline=rate, kind=ItemKind.TRANSFER),
    )
    write_rows(
        path, [to_row(pair, split="test", index=0, prompt_style="compact", end_tag="<end_of_conversation>")]
    )


def test_a_server_that_dies_early_says_why(tiny_model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eduardo.serve", "tutor", str(tiny_model), "servers=cpu"]
    command += [
        "servers.tutor.max_model_len=99999",
        f"endpoints_dir={tmp_path / 'e'}",
        f"log_dir={tmp_path / 'l'}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_S, check=False)

    assert done.returncode == 2
    assert "vllm serve ended before it answered" in done.stderr and "99999" in done.stderr
    assert list((tmp_path / "e").iterdir()) == []
