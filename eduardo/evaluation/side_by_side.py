"""Two tutors on the same problem, side by side: reading dialogues is how one finds out what was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from eduardo.evaluation.resumable import key_of
from eduardo.types import Criterion, Decision, ItemKind, ScoredDialogue, Speaker


def most_telling(first: Sequence[ScoredDialogue], second: Sequence[ScoredDialogue]) -> tuple[str, int] | None:
    """The dialogue whose transfer gain changed by the median change: neither the best nor the worst case."""
    before, after = _gains(first), _gains(second)
    shared = sorted(before.keys() & after.keys(), key=lambda key: (after[key] - before[key], key))
    return shared[len(shared) // 2] if shared else None


def side_by_side(key: tuple[str, int], tutors: Mapping[str, Sequence[ScoredDialogue]]) -> RenderableType:
    """A table with one column per tutor: what was said, the verdicts, and the two post-tests."""
    table = Table(title=f"problem {key[0]}, sample {key[1]}", show_lines=True, expand=True)
    cells = []
    for name, dialogues in tutors.items():
        table.add_column(name, ratio=1, overflow="fold")
        cells.append(_dialogue({str(d.labels["post_test"]): d for d in dialogues if key_of(d) == key}))
    table.add_row(*cells)
    return table


def _dialogue(records: Mapping[str, ScoredDialogue]) -> Text:
    transfer, source = records[ItemKind.TRANSFER], records[ItemKind.SOURCE]
    text = Text()
    for turn in transfer.transcript.turns:
        style = "bold" if turn.speaker is Speaker.TUTOR else ""
        text.append(f"{turn.speaker}: {turn.text or '(nothing)'}\n", style=style)
    text.append(f"\nended: {transfer.transcript.end_reason}\n")
    for verdict in transfer.verdicts:
        label = "handover" if verdict.criterion is Criterion.NO_HANDOVER else "teaching"
        text.append(f"{label}: {verdict.decision or 'undecided'}")
        reasons = [vote.reason for vote in verdict.votes if vote.decision is Decision.REJECT and vote.reason]
        text.append(f" ({reasons[0]})\n" if reasons else "\n")
    for name, record in (("variant", transfer), ("source problem", source)):
        test = record.post_test
        if test is not None and record.reward is not None:
            text.append(
                f"post-test on the {name}: {test.num_right}/{test.num_graded}, gain {record.reward.gain:+.2f}\n"
            )
    return text


def _gains(dialogues: Sequence[ScoredDialogue]) -> dict[tuple[str, int], float]:
    return {
        key_of(d): d.reward.gain
        for d in dialogues
        if d.reward is not None and d.labels["post_test"] == ItemKind.TRANSFER.value
    }
