"""Second stage: every dialogue is judged, and its student takes both post-tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from eduardo.answers import Grader
from eduardo.evaluation.environment.tasks import Task
from eduardo.evaluation.resumable import Progress, Void, existing, key_of, missing_tasks, run_all
from eduardo.posttest import Solver
from eduardo.scoring import VerdictGiver, score_dialogue
from eduardo.settings import RecipeSettings
from eduardo.types import Criterion, ItemKind, ScoredDialogue, Transcript, Verdict


async def score(
    tasks: Sequence[Task],
    student: Solver,
    judge: VerdictGiver,
    grader: Grader,
    *,
    recipe: RecipeSettings,
    seed: int,
    rollouts: Path,
    file: Path,
    max_at_once: int,
    progress: Progress,
) -> Counter[str]:
    """Score every rolled-out dialogue that `file` does not hold yet, on the variant and on the source problem.

    Nothing is gated here: verdicts and both post-tests are measured for every dialogue, so that gated and ungated
    figures come from the same file. A dialogue without one of them is void: it is not written, so that a rerun tries
    again. Returns why dialogues were void.
    """
    ungated = recipe.model_copy(update={"reward": recipe.reward.model_copy(update={"gate": "off"})})
    on_source = ungated.model_copy(
        update={"post_test": recipe.post_test.model_copy(update={"item": ItemKind.SOURCE.value})}
    )
    held = {key_of(d): d for d in existing(rollouts)}
    num_records = Counter(key_of(d) for d in existing(file))
    done = {key for key, number in num_records.items() if number >= len(ItemKind)}

    async def measure(task: Task) -> Iterable[ScoredDialogue]:
        held_dialogue, task_seed = held[task.key], task.seed(seed)
        transfer = await score_dialogue(
            task.pair,
            held_dialogue.transcript,
            student=student,
            judge=judge,
            grader=grader,
            recipe=ungated,
            seed=task_seed,
            labels={**held_dialogue.labels, "post_test": ItemKind.TRANSFER.value},
        )
        source = await score_dialogue(
            task.pair,
            held_dialogue.transcript,
            student=student,
            judge=_Known(transfer.verdicts),
            grader=grader,
            recipe=on_source,
            seed=task_seed,
            labels={**held_dialogue.labels, "post_test": ItemKind.SOURCE.value},
        )
        _require(transfer, source)
        return (transfer, source)

    missing = missing_tasks([task for task in tasks if task.key in held], done, progress)
    return await run_all(missing, measure, file, max_at_once=max_at_once, progress=progress)


class _Known:
    """Verdicts that were given already; they do not depend on the post-test's problem."""

    def __init__(self, verdicts: tuple[Verdict, ...]) -> None:
        self._verdicts = verdicts

    async def judge(self, transcript: Transcript, *, seed: int) -> tuple[Verdict, ...]:
        return self._verdicts


def _require(*scored: ScoredDialogue) -> None:
    """Raises Void unless all were measured: the scorer lets a missing verdict pass where nothing is gated."""
    for dialogue in scored:
        if dialogue.void_reason is not None:
            raise Void(dialogue.void_reason)
    decided = {verdict.criterion for verdict in scored[0].verdicts if verdict.decision is not None}
    undecided = [criterion for criterion in Criterion if criterion not in decided]
    if undecided:
        faults = {vote.fault for verdict in scored[0].verdicts for vote in verdict.votes if vote.fault}
        detail = "; ".join(sorted(faults)) or "no verdict came back"
        raise Void(f"judge: too few valid votes on {', '.join(undecided)} ({detail})")
