"""Which problems a step trains on: a pure function of (seed, epoch, offset), so that resuming is exact."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
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
        for key, mine in self.state(step).items():
            if state.get(key) != mine:
                raise UserError(
                    f"cannot resume: {key.replace('_', ' ')} of the training data is {mine}, the checkpoint has "
                    f"{state.get(key)}; restore the data and settings, or start afresh with another run.dir"
                )
