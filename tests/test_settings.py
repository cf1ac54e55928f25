"""Files of settings: whatever is wrong with one is a single line that names the file and the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eduardo.errors import UserError
from eduardo.settings import Count, Settings, read_yaml


class Shelf(Settings):
    books: Count
    shares: dict[str, float]


def complaint(content: bytes, tmp_path: Path, kind: type[Any] = Shelf) -> str:
    file = tmp_path / "shelf.yaml"
    file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_yaml(file, kind)
    file_name, _, reason = str(caught.value).partition(": ")
    assert file_name == str(file) and "\n" not in reason
    return reason


def test_a_file_becomes_what_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "shelf.yaml"
    file.write_text("books: 2\nshares: {a: 0.5}\n")
    assert read_yaml(file, Shelf) == Shelf(books=2, shares={"a": 0.5})
    file.write_text("x: {books: 1, shares: {}}\n")
    assert read_yaml(file, dict[str, Shelf]) == {"x": Shelf(books=1, shares={})}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"books: 0\nshares: {}", "books=0: input should be greater than or equal to 1"),
        (b"books: two\nshares: {}", "books='two': input should be a valid integer"),
        (b"books: 1\nshares: {a: much}", "shares.a='much': input should be a valid number"),
        (b"books: 1\nshares: {}\nboks: 1", "boks=1: extra inputs are not permitted"),
        (b"pages: 1", "books: field required (and 2 more)"),
        (b"", "input should be a valid dictionary or instance of Shelf"),
        (b"books: [", "not a YAML file (while parsing"),
        (b"books: \xff", "not a YAML file ("),
    ],
)
def test_what_is_wrong_is_named(content: bytes, reason: str, tmp_path: Path) -> None:
    assert complaint(content, tmp_path).startswith(reason)


def test_what_is_wrong_inside_a_table_is_named(tmp_path: Path) -> None:
    assert complaint(b"x: {books: 0, shares: {}}", tmp_path, dict[str, Shelf]).startswith("x.books=0: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml: No such file or directory$"):
        read_yaml(tmp_path / "none.yaml", Shelf)
    with pytest.raises(UserError, match=r": Is a directory$"):
        read_yaml(tmp_path, Shelf)
