"""Whether an evaluation can be trusted: what makes it invalid, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eduardo.evaluation.rows import Row
from eduardo.evaluation.settings import ValiditySettings


def faults(rows: Sequence[Row], num_planned: int, limits: ValiditySettings) -> list[str]:
    """Shares above their limits, one line each; empty for a valid evaluation.

    The detector knows final answers only, while the judge also rejects steps told too early. So they disagree where
    the detector finds the answer told and the judge lets it pass; the reverse is no contradiction.
    """
    num_turns = max(1, sum(row.num_tutor_turns for row in rows))
    taught = [row for row in rows if row.num_tutor_turns > 0]  # no cap can bind where nobody speaks
    shares = [
        ("dialogues were void", 1 - len(rows) / max(1, num_planned), limits.max_void_share),
        (
            "dialogues were ended or cut by a token cap",
            _share(taught, lambda row: row.hit_token_cap),
            limits.max_token_cap_share,
        ),
        (
            "tutor turns were blank",
            sum(row.num_blank_turns for row in rows) / num_turns,
            limits.max_blank_turn_share,
        ),
        (
            "dialogues were accepted by the judge although the leak detector found the answer told",
            _share(taught, lambda row: row.detector_found_leak and not row.leaked),
            limits.max_judge_detector_disagreement,
        ),
    ]
    return [f"{share:.0%} of {what} (limit {limit:.0%})" for what, share, limit in shares if share > limit]


def _share(rows: Sequence[Row], of: Callable[[Row], bool]) -> float:
    return sum(map(of, rows)) / max(1, len(rows))
