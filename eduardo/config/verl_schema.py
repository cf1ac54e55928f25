"""What verl accepts, read from its files without importing it: importing verl takes longer than a user should wait."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from eduardo.errors import UserError

# Mappings whose keys verl hands to somebody else, so that any key may be right.
OPEN_MAPPINGS = (
    "actor_rollout_ref.model.override_config",
    "actor_rollout_ref.rollout.engine_kwargs",
    "actor_rollout_ref.rollout.checkpoint_engine.engine_kwargs",
    "actor_rollout_ref.actor.optim.override_optimizer_config",
    "data.apply_chat_template_kwargs",
    "data.mm_processor_kwargs",
    "ray_kwargs.ray_init",
    "classroom.student.extra_body",
    "classroom.judge.extra_body",
    "rewriter.extra_body",
    "classroom.server.env",
    "planning.architecture",
    "run.env",
    "environment.shares",
    *(
        f"{servers}.{role}.env"
        for servers in ("servers", "classroom.server.servers")
        for role in ("student", "judge", "tutor")
    ),
)


def config_dir() -> Path:
    """Folder of verl's own Hydra configuration. Raises UserError when verl is not installed."""
    return _package() / "trainer" / "config"


@cache
def fields_of(target: str) -> frozenset[str]:
    """Field names, inherited ones included, of the verl dataclass that a `_target_` names."""
    classes = _classes()
    node = classes.get(target.rpartition(".")[2])
    if node is None:
        return frozenset()
    names = {
        s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    }
    for base in node.bases:
        names |= fields_of(ast.unparse(base))
    return frozenset(names)


@cache
def _classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for path in _config_sources() for node in _class_defs(path)}


def _config_sources() -> Iterator[Path]:
    root = _package()
    yield from sorted((root / "workers" / "config").glob("*.py"))
    yield from sorted((root / "trainer" / "config").glob("*.py"))


def _class_defs(path: Path) -> Iterator[ast.ClassDef]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node


def _package() -> Path:
    spec = find_spec("verl")
    if spec is None or spec.origin is None:
        raise UserError("training needs verl: install the training requirements (see README, Installation)")
    return Path(spec.origin).parent
