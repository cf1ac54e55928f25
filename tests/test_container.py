"""The image and its page say what the pinned packages are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PINS = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "requirements" / "gpu.txt").read_text(), re.MULTILINE))
PAGE = (ROOT / "docs" / "container.md").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize(
    "name", ["verl", "transformers", "vllm", "torch", "triton", "ray", "TransferQueue", "tensordict"]
)
def test_the_table_has_the_pinned_version(name: str) -> None:
    assert f"| {name} | {PINS[name]} |" in PAGE


def test_the_table_has_the_pinned_cuda_and_the_number_of_packages() -> None:
    assert f"`nvidia-cuda-runtime` {PINS['nvidia-cuda-runtime']}" in PAGE
    assert f"({len(PINS)} packages)" in PAGE


def test_the_table_and_the_preflight_ask_for_the_same_driver() -> None:
    preflight = (ROOT / "configs" / "preflight" / "default.yaml").read_text()
    (driver,) = re.findall(r"^min_nvidia_driver: (\S+)", preflight, re.MULTILINE)
    assert f"| NVIDIA driver | ≥ {driver} |" in PAGE


def test_the_image_copies_only_what_is_there_and_what_the_builder_is_sent() -> None:
    sent = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = [
        name for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    ]

    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_installs_the_pinned_list_and_nothing_beside_it() -> None:
    assert re.findall(r"pip install (\S+) ", DOCKERFILE) == ["--no-deps", "--no-deps"]
