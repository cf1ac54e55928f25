"""Set-up refuses with one line before it touches anything, and `make` explains itself."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run_setup(stack: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(ROOT / "scripts" / "setup.sh"), stack]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_an_unknown_stack_is_refused(tmp_path: Path) -> None:
    done = run_setup("tpu", VENV=str(tmp_path / "venv"))
    assert (done.returncode, done.stderr) == (1, "setup: unknown stack 'tpu': cpu, gpu or smollm2\n")
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("version", ["3, 10", "3, 13"])
def test_an_interpreter_that_does_not_fit_is_named(tmp_path: Path, version: str) -> None:
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/bash\npython3 -c "import sys; sys.exit(not (3, 11) <= ({version}) < (3, 13))"\n'
    )
    python.chmod(0o755)
    done = run_setup("cpu", VENV=str(tmp_path / "venv"), PYTHON=str(python))
    assert done.returncode == 1
    assert re.fullmatch(rf"setup: needs Python 3\.11 or 3\.12 .*\({python} is not\).*\n", done.stderr)
    assert not (tmp_path / "venv").exists()


def test_a_folder_that_is_no_environment_is_never_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    done = run_setup("cpu", VENV=str(tmp_path))
    assert done.returncode == 1
    assert f"{tmp_path} is not a virtual environment" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_make_clean_keeps_a_folder_that_is_no_environment(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    lines = subprocess.run(
        ["make", "--dry-run", "clean", f"VENV={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    (line,) = [line for line in lines if str(tmp_path) in line]
    subprocess.run(["bash", "-c", line], check=True)
    assert (tmp_path / "thesis.txt").exists()


def test_make_alone_explains_every_target() -> None:
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^  make ([\w-]+) +\S", shown, re.MULTILINE) == phony.split()
