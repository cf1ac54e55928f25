"""The picture of a run: how its main numbers moved."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from eduardo.files import write_whole

Rows = Sequence[Mapping[str, float]]

PANELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Reward", (("reward_total", "mean reward"),)),
    ("Learning gain Δ", (("delta", "Δ of tested dialogues"), ("preference", "preference over the data set"))),
    (
        "Rejected by the judge",
        (("rejected_no_handover", "leak"), ("rejected_factual_correctness", "teaching")),
    ),
    (
        "Why dialogues ended",
        (
            ("ended_tutor_ended", "tutor ended"),
            ("ended_turn_limit", "turn limit"),
            ("ended_token_budget", "token budget"),
        ),
    ),
    ("Tutor turns", (("num_tutor_turns", "turns per dialogue"),)),
    ("Tokens per tutor turn", (("tutor_visible_tokens", "visible"), ("tutor_thinking_tokens", "thinking"))),
)


def draw_curves(rows: Rows, path: Path) -> None:
    """Write a PNG of training (lines) and validation (dots). Nothing is drawn for a run without steps."""
    if not rows:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(13, 6.5), layout="constrained")
    for axis, (title, curves) in zip(axes.flat, PANELS, strict=True):
        for key, label in curves:
            if not any(f"dialogue/{key}" in row for row in rows):
                continue  # a number of the other environment
            line = axis.plot(*_series(rows, f"dialogue/{key}"), label=label, linewidth=1.4)[0]
            axis.plot(*_series(rows, f"val/{key}"), "o", color=line.get_color(), markersize=4)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("step", fontsize=8)
        axis.grid(alpha=0.3)
        if axis.lines:
            axis.legend(fontsize=8)
    figure.suptitle("lines: training, dots: validation", fontsize=9)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    pyplot.close(figure)
    write_whole(path, picture.getvalue())


def _series(rows: Rows, key: str) -> tuple[list[float], list[float]]:
    points = [(row["step"], row[key]) for row in rows if key in row]
    return [step for step, _ in points], [value for _, value in points]
