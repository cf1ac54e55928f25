"""Where an API key comes from, and what is said when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from llm_servers import endpoint

from eduardo.errors import UserError
from eduardo.llm import ChatClient
from eduardo.llm.key import read_api_key

URL = "http://127.0.0.1:8001/v1"
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    return path


def test_no_setting_means_no_key() -> None:
    assert read_api_key(endpoint(URL)) is None


def test_a_key_comes_from_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)

    assert read_api_key(endpoint(URL, api_key_env="JUDGE_KEY")) == KEY


def test_a_key_comes_from_a_private_file(key_file: Path) -> None:
    assert read_api_key(endpoint(URL, api_key_file=str(key_file))) == KEY


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_key_file_that_others_can_read_is_refused(key_file: Path, mode: int) -> None:
    key_file.chmod(mode)

    with pytest.raises(UserError, match=rf"key has mode {mode:04o}; run: chmod 600"):
        ChatClient(endpoint(URL, api_key_file=str(key_file)))


def test_a_key_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere cannot be read: No such file"):
        ChatClient(endpoint(URL, api_key_file=str(tmp_path / "nowhere")))


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_an_unset_variable_is_named(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("JUDGE_KEY", value)

    with pytest.raises(UserError, match="environment variable JUDGE_KEY holds no API key"):
        ChatClient(endpoint(URL, api_key_env="JUDGE_KEY"))


@pytest.mark.parametrize("value", ["two\nlines", "with space", "schlüssel", "a\r\nX-Injected: 1"])
def test_an_odd_key_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("JUDGE_KEY", value)

    with pytest.raises(UserError, match="JUDGE_KEY") as caught:
        ChatClient(endpoint(URL, api_key_env="JUDGE_KEY"))

    assert value not in str(caught.value)


def test_two_places_at_once_are_refused(key_file: Path) -> None:
    with pytest.raises(UserError, match="keep one of them"):
        ChatClient(endpoint(URL, api_key_env="JUDGE_KEY", api_key_file=str(key_file)))


@pytest.mark.parametrize("url", ["http://user:hunter2@host/v1", "http://hunter2@host/v1"])
def test_a_secret_in_the_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(UserError, match="user name or password") as caught:
        ChatClient(endpoint(url))

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://host:99999/v1", "http://[x/v1", "http:///v1", "http://host/v1?a=b"])
def test_a_url_that_cannot_work_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="base_url"):
        ChatClient(endpoint(url))
