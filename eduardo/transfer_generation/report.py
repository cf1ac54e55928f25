"""The report on a set: Markdown with pictures, and the same numbers as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import orjson

from eduardo.transfer_generation.figures import Figures

PICTURES = {
    "acceptance.png": "What became of the drafts, by round",
    "gaps.png": "Difficulty gaps between variants and sources",
    "solve_rates.png": "Solve rates of sources and variants",
}
_MAX_COPIES_SHOWN = 10


def to_json(figures: Figures, about: dict[str, object]) -> bytes:
    """`about` says what the set is made with."""
    content = {
        **about,
        **asdict(figures),
        "rounds": {str(number): outcomes for number, outcomes in figures.rounds.items()},
        "reasons": figures.reasons,
        "mean_gap": figures.mean_gap,
        "mean_distance": figures.mean_distance,
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def to_markdown(figures: Figures, about: dict[str, object], cost: float | None) -> str:
    lines = [
        "# Near-transfer set",
        "",
        f"Rewriter `{about['rewriter']}`, student `{about['student']}`. Sent to them: "
        f"{figures.rewriter_usage.num_requests} and {figures.student_usage.num_requests} requests.",
        "",
        *_table(("", "number"), _summary(figures, cost)),
        "",
        *_rounds(figures),
        "",
        *(f"![{title}]({name})\n" for name, title in PICTURES.items()),
        *_near_copies(figures),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _summary(figures: Figures, cost: float | None) -> Iterator[tuple[str, str]]:
    yield "rows of the source", str(figures.num_source_rows)
    for reason, count in figures.num_dropped.items():
        yield f"- left out: {reason}", str(count)
    yield "problems worked on", str(figures.num_chosen)
    if figures.num_finished < figures.num_chosen:
        yield "- **still open, not in the set**", str(figures.num_chosen - figures.num_finished)
    yield (
        "problems with a variant",
        f"{figures.num_with_variant} ({_share(figures.num_with_variant, figures.num_finished)})",
    )
    for kind, count in figures.num_variants.items():
        yield f"- variants: {kind}", str(count)
    yield "near-copies caught", str(len(figures.near_copies))
    yield "mean solve rate, source problems", _mean(figures.source_rates)
    yield "mean solve rate, kept variants", _mean(figures.variant_rates)
    yield "mean difference, variant minus source", _signed(figures.mean_gap)
    yield "mean distance", _signed(figures.mean_distance).lstrip("+")
    for role, usage in (("rewriter", figures.rewriter_usage), ("student", figures.student_usage)):
        yield f"{role} tokens, prompt + completion", f"{usage.prompt_tokens:,} + {usage.completion_tokens:,}"
    if cost is not None:
        yield "cost at the prices set", f"{cost:.2f}"


def _rounds(figures: Figures) -> Iterator[str]:
    outcomes = ["accepted", *figures.reasons]
    rows = [
        (outcome, *(str(by_outcome.get(outcome, 0)) for by_outcome in figures.rounds.values()))
        for outcome in outcomes
    ]
    yield from _table(("drafts", *(f"round {number}" for number in figures.rounds)), rows)


def _near_copies(figures: Figures) -> Iterator[str]:
    if not figures.near_copies:
        return
    yield f"## Near-copies caught ({len(figures.near_copies)})\n"
    for source_id, what, text in figures.near_copies[:_MAX_COPIES_SHOWN]:
        yield f"* `{source_id}`, {what}: {' '.join(text.split())}"
    if len(figures.near_copies) > _MAX_COPIES_SHOWN:
        yield f"* and {len(figures.near_copies) - _MAX_COPIES_SHOWN} more in rejects.jsonl"


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "not measured"


def _signed(value: float | None) -> str:
    return "not measured" if value is None else f"{value:+.3f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "0 of 0"
