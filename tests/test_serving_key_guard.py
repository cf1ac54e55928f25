"""A served model answers nobody without its key."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from eduardo.serving.key_guard import KeyGuard

PATHS = ["/v1/chat/completions", "/invocations", "/tokenize", "/metrics", "/health/../v1/models", "/"]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("VLLM_API_KEY", "right")
    routes = [Route(path, lambda _: PlainTextResponse("answer")) for path in [*PATHS, "/health"]]
    return TestClient(KeyGuard(Starlette(routes=routes)))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "right"}])
def test_a_request_without_the_key_is_refused(client: TestClient, path: str, headers: dict[str, str]) -> None:
    response = client.get(path, headers=headers)

    assert response.status_code == 401
    assert "answer" not in response.text and "right" not in response.text


@pytest.mark.parametrize("path", PATHS[:4])
def test_a_request_with_the_key_is_answered(client: TestClient, path: str) -> None:
    assert client.get(path, headers={"Authorization": "Bearer right"}).text == "answer"


def test_whether_the_server_lives_is_no_secret(client: TestClient) -> None:
    assert client.get("/health").text == "answer"
