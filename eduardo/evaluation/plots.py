"""The pictures of a report: forest plot, trade-off of gain against leaks, training curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.evaluation.svg import Scale, element, line, number, picture, polyline, scale_over, text

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its interval; without one, low and high are the value."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Effect:
    label: str
    interval: Interval
    note: str  # what stands beside it in figures


@dataclass(frozen=True, slots=True)
class Place:
    """A tutor in the plane of two figures."""

    label: str
    x: Interval
    y: Interval


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    line: Points  # training
    dots: Points  # validation


def forest(title: str, effects: Sequence[Effect]) -> str:
    """One row per effect: its interval as a bar, zero as a line; coloured where it excludes zero."""
    left, right, top, step = 200.0, 500.0, 26.0, 26.0
    bottom = top + step * len(effects)
    ends = [end for effect in effects for end in (effect.interval.low, effect.interval.high)]
    x = scale_over([0.0, *ends], left, right, margin=0.06)
    parts = [text(title, left, 12, kind="strong"), line(x(0), top - 6, x(0), bottom, "zero")]
    parts.append(line(left, bottom, right, bottom, "axis"))
    parts += [text(number(tick), x(tick), bottom + 15, anchor="middle") for tick in x.ticks()]
    for row, effect in enumerate(effects):
        y, interval = top + step * (row + 0.5), effect.interval
        kind = "even" if interval.low <= 0 <= interval.high else "apart"
        parts += [
            text(effect.label, left - 14, y + 4, anchor="end", kind="strong"),
            line(x(interval.low), y, x(interval.high), y, f"range {kind}"),
            element("rect", x=x(interval.value) - 4, y=y - 4, width=8, height=8, class_=kind),
            text(effect.note, right + 16, y + 4),
        ]
    return picture(760, bottom + 22, f"{title}: {'; '.join(f'{e.label} {e.note}' for e in effects)}", *parts)


def plane(x_title: str, y_title: str, places: Sequence[Place]) -> str:
    """Every tutor as a point with the intervals of both figures as a cross."""
    left, right, top, bottom = 70.0, 600.0, 18.0, 300.0
    x = scale_over([0.0, *(end for p in places for end in (p.x.low, p.x.high))], left, right)
    y = scale_over([0.0, *(end for p in places for end in (p.y.low, p.y.high))], bottom, top)
    parts = _frame(x, y, gap=14)  # points may lie on the axis
    parts += [
        text(x_title, (left + right) / 2, bottom + 36, anchor="middle", kind="strong"),
        element(
            "g",
            text(y_title, 0, 0, anchor="middle", kind="strong"),
            transform=f"translate(14 {(top + bottom) / 2}) rotate(-90)",
        ),
    ]
    for index, place in enumerate(places):
        kind = f"series-{index % 6}"
        at_x, at_y = x(place.x.value), y(place.y.value)
        parts += [
            line(x(place.x.low), at_y, x(place.x.high), at_y, f"cross {kind}"),
            line(at_x, y(place.y.low), at_x, y(place.y.high), f"cross {kind}"),
            element("circle", cx=at_x, cy=at_y, r=5, class_=f"point {kind}"),
        ]
    parts += _labels(places, x, y)
    return picture(
        760, bottom + 46, f"{y_title} against {x_title}: {', '.join(p.label for p in places)}", *parts
    )


def curves(title: str, series: Sequence[Curve]) -> str:
    """Lines for training and dots for validation over the steps; the series are named below."""
    left, right, top, bottom = 46.0, 352.0, 24.0, 150.0
    points = [point for curve in series for point in (*curve.line, *curve.dots)]
    x = scale_over([step for step, _ in points], left, right, margin=0.02)
    y = scale_over([value for _, value in points], bottom, top)
    parts = [text(title, left, 13, kind="strong"), *_frame(x, y, whole_steps=True)]
    for index, curve in enumerate(series):
        kind = f"series-{index % 6}"
        if len(curve.line) == 1:
            parts += _dots([(x(step), y(value)) for step, value in curve.line], kind, radius=2)
        parts += [polyline([(x(step), y(value)) for step, value in curve.line], f"curve {kind}")]
        parts += _dots([(x(step), y(value)) for step, value in curve.dots], kind, radius=3.2)
    if len(series) > 1:
        parts += _legend(series, left, bottom + 34)
    return picture(360, bottom + 44, f"{title} over training steps", *parts)


def _frame(x: Scale, y: Scale, *, whole_steps: bool = False, gap: float = 7) -> list[str]:
    """Both axes with their ticks, and zero where it lies inside."""
    parts = [line(x.start, y.start, x.end, y.start, "axis")]
    ticks = [tick for tick in x.ticks(5) if not whole_steps or tick == int(tick)]
    parts += [
        text(number(tick) if not whole_steps else str(int(tick)), x(tick), y.start + 16, anchor="middle")
        for tick in ticks
    ]
    for tick in y.ticks(4):
        parts += [
            line(x.start, y(tick), x.end, y(tick), "zero" if tick == 0 else "axis"),
            text(number(tick), x.start - gap, y(tick) + 4, anchor="end"),
        ]
    return parts


def _dots(points: Points, kind: str, *, radius: float) -> list[str]:
    return [element("circle", cx=x, cy=y, r=radius, class_=f"point {kind}") for x, y in points]


def _legend(series: Sequence[Curve], left: float, y: float) -> list[str]:
    parts, x = [], left
    for index, curve in enumerate(series):
        parts += [line(x, y - 4, x + 14, y - 4, f"curve series-{index % 6}"), text(curve.name, x + 19, y)]
        x += 32 + 6.2 * len(curve.name)
    return parts


def _labels(places: Sequence[Place], x: Scale, y: Scale) -> list[str]:
    """Names beside the points, on the side where there is room, moved down where another one stands already."""
    taken: list[tuple[float, float]] = []
    parts = []
    for place in sorted(places, key=lambda place: -place.y.value):
        at_x, at_y = x(place.x.value), y(place.y.value) - 9
        while any(abs(at_x - other_x) < 90 and abs(at_y - other_y) < 13 for other_x, other_y in taken):
            at_y += 13
        taken.append((at_x, at_y))
        near_edge = at_x > x.end - 60
        anchor, shift = ("end", -10) if near_edge else ("start", 10)
        parts.append(text(place.label, at_x + shift, at_y, anchor=anchor, kind="strong"))
    return parts
