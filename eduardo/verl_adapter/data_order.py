"""Which problems a step trains on: a pure function of (seed, epoch, offset), so that resuming is exact."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eduardo.errors import UserError
from eduardo.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class Position:
    """Place of a step in the data. `epoch` counts from 0; `offset` is in problems."""

    epoch: int
    offset: int


class DataOrder:
    """Shuffled anew each epoch; a last incomplete batch of an epoch is left out. Steps count from 1."""

    def __init__(self, ids: Sequence[str], *, batch_size: int, seed: int) -> None:
        if len(ids) < batch_size:
            raise UserError(
                f"data.train_batch_size={batch_size} is more than the {len(ids)} training rows: "
                "lower it or prepare more data"
            )
        if len(set(ids)) != len(ids):
            repeated = next(i for i in ids if list(ids).count(i) > 1)
            raise UserError(f"training data: id {repeated!r} appears more than once")
        self._num_rows = len(ids)
        self._batch_size = batch_size
        self._seed = seed
        self.fingerprint = hashlib.sha256("\n".join(ids).encode()).hexdigest()

    @property
    def steps_per_epoch(self) -> int:
        return self._num_rows // self._batch_size

    def position(self, step: int) -> Position:
        epoch, index = divmod(step - 1, self.steps_per_epoch)
        return Position(epoch, index * self._batch_size)

    def rows(self, step: int) -> list[int]:
        """Row numbers of the batch of `step`."""
        position = self.position(step)
        order = list(range(self._num_rows))
        random.Random(derive_seed(self._seed, "data order", position.epoch)).shuffle(order)
        return order[position.offset : position.offset + self._batch_size]

    def state(self, step: int) -> dict[str, int | str]:
        """What a checkpoint of `step` keeps to prove that a resumed run sees the same data."""
        position = self.position(step + 1)
        return {
            "seed": self._seed,
            "batch_size": self._batch_size,
            "fingerprint": self.fingerprint,
            "next_epoch": position.epoch,
            "next_offset": position.offset,
        }

    def check_state(self, state: dict[str, int | str], step: int) -> None:
        """Raises UserError when this data, seed or batch size is not the one that the checkpoint was made with."""
        _check_state(self.state(step), state)


class MixedOrder:
    """Several environments in one run, each with an order of its own and a fixed number of problems per step."""

    def __init__(
        self,
        rows_by_environment: Mapping[str, Sequence[tuple[int, str]]],
        counts: Mapping[str, int],
        *,
        seed: int,
    ) -> None:
        """`rows_by_environment`: (row number, id) of each environment's rows; `counts`: its problems per step."""
        self._numbers = {name: [number for number, _ in rows] for name, rows in rows_by_environment.items()}
        self._orders = {
            name: DataOrder(
                [row_id for _, row_id in rows],
                batch_size=counts[name],
                seed=derive_seed(seed, "environment", name),
            )
            for name, rows in rows_by_environment.items()
        }

    def rows(self, step: int) -> list[int]:
        """Row numbers of the batch of `step`. An environment with few rows repeats them more often."""
        return [self._numbers[name][row] for name, order in self._orders.items() for row in order.rows(step)]

    def state(self, step: int) -> dict[str, int | str]:
        """What a checkpoint of `step` keeps to prove that a resumed run sees the same data."""
        return {
            f"{name}_{key}": v for name, order in self._orders.items() for key, v in order.state(step).items()
        }

    def check_state(self, state: dict[str, int | str], step: int) -> None:
        """Raises UserError when this data, seed or batch size is not the one that the checkpoint was made with."""
        _check_state(self.state(step), state)


def make_order(
    rows: Sequence[tuple[str, str]], counts: Mapping[str, int], *, seed: int
) -> DataOrder | MixedOrder:
    """The order of `rows`, (id, environment) each; `counts`: problems of each environment in a step.

    Raises UserError for a row of an environment without a share, and where rows do not suffice.
    """
    others = sorted({environment for _, environment in rows} - counts.keys())
    if others:
        raise UserError(
            f"training data: there are rows of {others[0]}, which has no share in environment.shares"
        )
    ids = [row_id for row_id, _ in rows]
    if len(counts) == 1:
        return DataOrder(ids, batch_size=sum(counts.values()), seed=seed)
    by_environment: dict[str, list[tuple[int, str]]] = {name: [] for name in counts}
    for number, (row_id, environment) in enumerate(rows):
        by_environment[environment].append((number, row_id))
    return MixedOrder(by_environment, counts, seed=seed)


def _check_state(mine: Mapping[str, int | str], saved: Mapping[str, int | str]) -> None:
    for key, value in mine.items():
        if saved.get(key) != value:
            raise UserError(
                f"cannot resume: {key.replace('_', ' ')} of the training data is {value}, the checkpoint has "
                f"{saved.get(key)}; restore the data and settings, or start afresh with another run.dir"
            )
