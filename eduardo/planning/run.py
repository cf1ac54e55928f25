"""A run as the estimates see it, and the runs beside it: more nodes, larger groups, longer dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import pyarrow.parquet as pq
from omegaconf import DictConfig

from eduardo.planning.architecture import Architecture, read_architecture
from eduardo.planning.cost import RunCost, estimate_cost
from eduardo.planning.layout import Layout
from eduardo.planning.memory import MemoryEstimate, estimate_memory
from eduardo.planning.settings import PlanningSettings
from eduardo.planning.workload import Workload, estimate_workload, largest_workload
from eduardo.settings import RecipeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    model: Architecture
    layout: Layout
    recipe: RecipeSettings
    settings: PlanningSettings
    num_steps: int
    num_val_dialogues: float  # per step
    recomputes_logprobs: bool

    @classmethod
    def from_config(
        cls, config: DictConfig, recipe: RecipeSettings, settings: PlanningSettings, *, num_steps: int
    ) -> Self:
        """From a resolved run configuration. Raises UserError when the model's shape is not known."""
        trainer = config.trainer
        num_val = num_rows(config.data.val_files, otherwise=settings.expected.val_problems)
        num_val *= int(config.actor_rollout_ref.rollout.val_kwargs.n)
        return cls(
            model=read_architecture(settings.architecture, str(config.actor_rollout_ref.model.path)),
            layout=Layout.from_config(config),
            recipe=recipe,
            settings=settings,
            num_steps=num_steps,
            num_val_dialogues=num_val / trainer.test_freq if trainer.test_freq > 0 else 0.0,
            recomputes_logprobs=not config.algorithm.rollout_correction.bypass_mode,
        )

    def memory(self, *, gpu_gib: float | None = None) -> MemoryEstimate:
        """`gpu_gib`: memory of one GPU where it is known better than from the settings."""
        gib = self.settings.gpu.memory_gib if gpu_gib is None else gpu_gib
        return estimate_memory(self.model, self.layout, self.settings.memory, gpu_gib=gib)

    def workload(self) -> Workload:
        return estimate_workload(self.recipe, self.settings.expected, num_dialogues=self.layout.num_dialogues)

    def largest_workload(self) -> Workload:
        return largest_workload(self.recipe, num_dialogues=self.layout.num_dialogues)

    def cost(self) -> RunCost:
        return estimate_cost(
            self.model,
            self.layout,
            self.workload(),
            self.settings,
            num_steps=self.num_steps,
            val_dialogues_per_step=self.num_val_dialogues,
            recomputes_logprobs=self.recomputes_logprobs,
        )

    def on_nodes(self, counts: Iterable[int]) -> Iterator[Self]:
        per_node = self.layout.num_gpus // self.layout.num_nodes
        for count in counts:
            yield replace(self, layout=replace(self.layout, num_nodes=count, num_gpus=count * per_node))

    def with_group_sizes(self, sizes: Iterable[int]) -> Iterator[Self]:
        for size in sizes:
            yield replace(self, layout=replace(self.layout, group_size=size))

    def with_turns(self, limits: Iterable[int]) -> Iterator[Self]:
        """Other limits on the tutor's turns; the token budget stays."""
        for limit in limits:
            dialogue = self.recipe.dialogue.model_copy(update={"max_tutor_turns": limit})
            yield replace(self, recipe=self.recipe.model_copy(update={"dialogue": dialogue}))


def num_rows(names: Iterable[str], *, otherwise: int) -> int:
    """Rows of the data files, or the stated number where they are not at hand."""
    files = [Path(name) for name in names]
    if not all(file.is_file() for file in files):
        return otherwise
    return sum(pq.read_metadata(file).num_rows for file in files)
