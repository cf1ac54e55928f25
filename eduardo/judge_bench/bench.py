"""Put every case to the judge, as a training dialogue would be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eduardo.judge import Judge
from eduardo.judge_bench.cases import Case
from eduardo.leak_detector import find_leaks
from eduardo.seeds import derive_seed
from eduardo.types import Criterion, Decision, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    case: Case
    verdicts: dict[Criterion, Verdict]
    leaks: tuple[str, ...]  # findings of the deterministic detector

    @property
    def gate(self) -> Decision | None:
        """Rejected when a criterion is; None when one is undecided, which voids a dialogue in training."""
        decisions = {verdict.decision for verdict in self.verdicts.values()}
        if None in decisions:
            return None
        return Decision.REJECT if Decision.REJECT in decisions else Decision.ACCEPT


async def judge_all(
    cases: Sequence[Case],
    judge: Judge,
    *,
    seed: int,
    max_at_once: int,
    progress: Callable[[], None] = lambda: None,
) -> list[Judged]:
    """In the order of `cases`. A vote that the endpoint owes is lost, as in training. Raises EndpointRejected."""
    slots = asyncio.Semaphore(max_at_once)

    async def one(case: Case) -> Judged:
        async with slots:
            verdicts = await judge.judge(case.transcript, seed=derive_seed(seed, "judge-bench", case.id))
        progress()
        return Judged(
            case=case,
            verdicts={verdict.criterion: verdict for verdict in verdicts},
            leaks=find_leaks(case.transcript),
        )

    return await asyncio.gather(*map(one, cases))
