"""The viewer over HTTP, as the command serves it: who is let in, what may be done, what a question answers."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from sample_runs import write_dialogues, write_evaluation, write_run
from viewer_process import running_viewer

from eduardo import views
from eduardo.errors import UserError
from eduardo.records import read_dialogues
from eduardo.types import Criterion
from eduardo.verl_adapter.dialogue_files import step_file
from eduardo.view import main


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    write_run(folder / "run", [["teller", "guide"], ["rambler", "guide"]], num_pairs=1)
    write_evaluation(folder / "evaluation", ["guide"], num_pairs=1)
    return folder


class Visitor:
    """Speaks plain HTTP to a viewer, with or without its cookie."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port, self.token = (
            parts.hostname or "",
            parts.port or 0,
            parts.query.removeprefix("token="),
        )
        self.cookie = f"eduardo_view_{self.port}={self.token}"

    def ask(self, path: str, *, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection(self.host, self.port, timeout=20)
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def get(self, path: str, **wanted: object) -> dict:
        query = f"?{urlencode(wanted, doseq=True)}" if wanted else ""
        response, body = self.ask(path + query, Cookie=self.cookie)
        assert response.status == 200, body
        return json.loads(body)

    def rows_once(self, number: int, **wanted: object) -> list[dict]:
        """The rows of a question as soon as there are `number` of them."""
        for _ in range(100):
            rows = self.get("/api/dialogues", **wanted)["rows"]
            if len(rows) == number:
                return rows
            time.sleep(0.1)
        raise AssertionError(f"{len(rows)} rows, expected {number}")


@pytest.fixture(scope="module")
def visitor(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    with running_viewer(recorded, cache_dir=tmp_path_factory.mktemp("cache")) as address:
        yield Visitor(address)


# -- who is let in -----------------------------------------------------------------------------------------


def test_the_token_is_traded_for_a_cookie_and_leaves_the_address(visitor: Visitor) -> None:
    response, _ = visitor.ask(f"/?token={visitor.token}")
    assert (response.status, response.headers["Location"]) == (303, "/")
    cookie = response.headers["Set-Cookie"]
    assert cookie.startswith(visitor.cookie)
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    response, body = visitor.ask("/", Cookie=visitor.cookie)
    assert response.status == 200
    assert b"<main" in body


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/api/state", "/api/dialogues", "/?token=wrong", "/?token="]
)
def test_nothing_is_shown_without_the_token(visitor: Visitor, path: str) -> None:
    for headers in ({}, {"Cookie": f"eduardo_view_{visitor.port}=wrong"}, {"Cookie": "\xff=;;"}):
        response, body = visitor.ask(path, **headers)
        assert response.status == 401
        assert b"the command printed" in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(visitor: Visitor, method: str) -> None:
    response, _ = visitor.ask("/api/dialogues", method=method, Cookie=visitor.cookie)
    assert response.status == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_foreign_host_name_is_refused_even_with_the_cookie(visitor: Visitor, host: str) -> None:
    response, _ = visitor.ask("/api/state", Host=host, Cookie=visitor.cookie)
    assert response.status == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:1", "[::1]:8642"])
def test_this_machine_is_let_in_under_its_own_names_and_through_a_forwarded_port(
    visitor: Visitor, host: str
) -> None:
    response, _ = visitor.ask("/api/state", Host=host, Cookie=visitor.cookie)
    assert response.status == 200


def test_the_redirect_after_the_token_stays_here(visitor: Visitor) -> None:
    response, _ = visitor.ask(f"//evil.example/?token={visitor.token}")
    assert response.headers["Location"] == "/evil.example/"


def test_it_listens_on_this_machine_only(visitor: Visitor) -> None:
    try:
        outside = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    except socket.gaierror:
        outside = []
    for address in {address for address in outside if not address.startswith("127.")}:
        with (
            pytest.raises(ConnectionRefusedError),
            socket.create_connection((address, visitor.port), timeout=2),
        ):
            pass


def test_every_answer_forbids_all_but_our_own_files(visitor: Visitor) -> None:
    for path, cookie in (
        ("/", visitor.cookie),
        ("/api/state", visitor.cookie),
        ("/", ""),
        ("/none", visitor.cookie),
    ):
        response, _ = visitor.ask(path, Cookie=cookie)
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/static/..%2fserver.py", "/static/%2e%2e/server.py", "/static/x.js", "/docs", "/openapi.json"]
)
def test_only_the_files_of_the_page_are_served(visitor: Visitor, path: str) -> None:
    response, _ = visitor.ask(path, Cookie=visitor.cookie)
    assert response.status == 404


# -- what a question answers -------------------------------------------------------------------------------


def test_the_state_names_runs_and_what_can_be_filtered_by(visitor: Visitor) -> None:
    visitor.rows_once(5)
    state = visitor.get("/api/state")
    assert {(run["name"], run["kind"]) for run in state["runs"]} == {
        ("run", "training"),
        ("evaluation", "evaluation"),
    }
    groups = {(facet["value"], facet["num"]) for facet in state["facets"] if facet["name"] == "grp"}
    assert groups == {("train", 4), ("guide", 1)}
    assert visitor.get("/api/state", version=state["version"]) == {"version": state["version"]}


def test_a_dialogue_comes_with_all_that_was_measured_and_what_each_side_saw(
    visitor: Visitor, recorded: Path
) -> None:
    [row] = visitor.rows_once(1, grp="train", bound=["step>=2", "step<=2"], sort="sample", limit=1)
    data = visitor.get(f"/api/dialogues/{row['key']}")
    record = next(
        d
        for d in read_dialogues(step_file(recorded / "run", "train", 2))
        if d.labels["sample"] == row["sample"]
    )
    assert [turn["text"] for turn in data["turns"]] == [turn.text for turn in record.transcript.turns]
    assert sum(part["value"] for part in data["reward"]["parts"]) == pytest.approx(record.reward.total)
    assert data["views"]["student"] == views.student_view(record.transcript)
    test = record.post_test
    assert data["views"]["masked"] == views.post_test_view(
        record.transcript, test.item.problem, mask_tutor=True
    )
    for criterion in Criterion:
        assert data["views"]["judge"][criterion.value] == views.judge_view(record.transcript, criterion)
    [shown] = data["tests"]
    assert [attempt["outcome"] for attempt in shown["attempts"]] == [
        a.grade.outcome.value for a in test.attempts
    ]
    assert shown["num_right"] == test.num_right


def test_a_gated_dialogue_has_no_masked_view(visitor: Visitor) -> None:
    [row] = visitor.rows_once(1, leak="reject", bound="step<=1")
    assert visitor.get(f"/api/dialogues/{row['key']}")["views"]["masked"] is None


def test_an_evaluated_dialogue_comes_with_both_post_tests(visitor: Visitor) -> None:
    [row] = visitor.rows_once(1, grp="guide")
    tests = visitor.get(f"/api/dialogues/{row['key']}")["tests"]
    assert [test["kind"] for test in tests] == ["transfer", "source"]


@pytest.mark.parametrize(
    "question",
    [
        "/api/dialogues?sort=nope",
        "/api/dialogues?bound=key%3E%3D1",
        "/api/dialogues?other=1",
        "/api/dialogues?limit=100000",
    ],
)
def test_a_question_that_is_none_is_refused(visitor: Visitor, question: str) -> None:
    response, _ = visitor.ask(question, Cookie=visitor.cookie)
    assert response.status == 422


def test_dialogues_appear_while_a_run_writes_them(recorded: Path, tmp_path: Path) -> None:
    dialogues = list(read_dialogues(step_file(recorded / "run", "train", 1)))
    run = tmp_path / "live"
    run.mkdir()
    (run / "manifest.json").write_text("{}")
    with running_viewer(run, cache_dir=tmp_path / "cache") as address:
        visitor = Visitor(address)
        visitor.rows_once(0)
        write_dialogues(step_file(run, "train", 1), dialogues)
        assert len(visitor.rows_once(len(dialogues))) == 2


# -- the command -------------------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_named(recorded: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"--port {port}: cannot be used"):
            main([str(recorded), "--port", str(port)])


def test_a_path_without_dialogues_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no dialogues; give a run folder"):
        main([str(tmp_path), "--cache-dir", str(tmp_path)])
