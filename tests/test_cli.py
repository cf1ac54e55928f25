"""The `eduardo` command lists and runs the entry points; failures are one line and an exit status."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import eduardo
from eduardo import cli
from eduardo.cli import COMMANDS, Command
from eduardo.console import run_main
from eduardo.errors import EndpointUnavailable, UserError


def test_help_lists_every_command_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, command in COMMANDS.items():
        assert any(line.split() == [name, *command.help.split()] for line in lines), name


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "usage: eduardo COMMAND" in capsys.readouterr().out


def test_help_imports_no_entry_point() -> None:
    probe = (
        "import sys; from eduardo.cli import main; main(['--help']); print(len(sys.modules), *sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    loaded = set(out.splitlines()[-1].split())
    assert not loaded & {command.module for command in COMMANDS.values()}
    assert not loaded & {"torch", "ray", "verl", "vllm", "transformers", "pydantic", "numpy"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_module_is_an_entry_point(name: str) -> None:
    spec = importlib.util.find_spec(COMMANDS[name].module)
    assert spec is not None
    assert spec.origin is not None
    assert "main" in _names(ast.parse(Path(spec.origin).read_text()).body)


def _names(body: list[ast.stmt]) -> set[str]:
    """What a module defines or imports from elsewhere."""
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    imports = {alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return functions | imports


def test_every_entry_point_of_the_package_is_listed() -> None:
    package = Path(eduardo.__file__).parent
    guarded = {path for path in package.rglob("*.py") if "(run_main(main))\n" in path.read_text()}
    names = {".".join(path.relative_to(package.parent).with_suffix("").parts) for path in guarded}
    assert names == {command.module for command in COMMANDS.values()}


def test_a_mistyped_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(cli.main, ["clasroom"]) == 2
    assert capsys.readouterr().err == "error: no command 'clasroom'; did you mean 'classroom'?\n"


def test_an_unknown_command_points_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(cli.main, ["zzz"]) == 2
    assert "--help" in capsys.readouterr().err


def test_dashes_and_underscores_name_the_same_command(
    monkeypatch: pytest.MonkeyPatch, fake_entry_point: list[list[str] | None]
) -> None:
    monkeypatch.setitem(COMMANDS, "two_words", Command("fake_entry_point", "for this test"))
    assert cli.main(["two-words", "--flag", "x"]) == 7
    assert cli.main(["two_words"]) == 7
    assert fake_entry_point == [["--flag", "x"], []]


@pytest.fixture
def fake_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str] | None]:
    source = "calls = []\ndef main(argv=None):\n    calls.append(argv)\n    return 7\n"
    (tmp_path / "fake_entry_point.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("fake_entry_point").calls  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UserError("data/train.jsonl is empty"), 2, "error: data/train.jsonl is empty\n"),
        (EndpointUnavailable("student at port 1 is down"), 1, "error: student at port 1 is down\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
    ],
)
def test_a_failure_is_one_line_and_a_status(
    error: BaseException, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(argv: list[str] | None) -> int:
        raise error

    assert run_main(fail, []) == status
    assert capsys.readouterr().err == line


def test_a_bug_keeps_its_traceback() -> None:
    def broken(argv: list[str] | None) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_main(broken, [])


def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eduardo", "clasroom"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "error: no command 'clasroom'; did you mean 'classroom'?\n")


def test_a_closed_pipe_is_no_traceback() -> None:
    pipe = f"{sys.executable} -m eduardo --help | true"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
