"""Axes, marks and text as SVG. Colours come from the page's style sheet through classes, so that themes apply."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def element(tag: str, *content: str, **attributes: object) -> str:
    """An SVG element. `content` is SVG already (see `text`); attributes are escaped, `_` in names stands for `-`."""
    pairs = (
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(_plain(value))}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{''.join(pairs)}>{''.join(content)}</{tag}>"


def text(words: str, x: float, y: float, *, anchor: str = "start", kind: str = "") -> str:
    return element("text", html.escape(words), x=x, y=y, text_anchor=anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def picture(width: float, height: float, name: str, *content: str) -> str:
    """A whole picture; `name` says what it shows to who cannot see it."""
    return element(
        "svg",
        *content,
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        class_="chart",
        role="img",
        aria_label=name,
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values in [low, high] to positions from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, number: int = 4) -> list[float]:
        """About `number` round values inside the scale."""
        rough = (self.high - self.low) / number
        power = 10.0 ** math.floor(math.log10(rough))
        step = min((power * nice for nice in (1, 2, 5, 10)), key=lambda step: abs(math.log(step / rough)))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(index * step, 10) for index in range(first, last + 1)]


def scale_over(values: Iterable[float], start: float, end: float, *, margin: float = 0.05) -> Scale:
    """A scale that holds all values and some margin, but none below zero for amounts. Needs at least one value."""
    known = list(values)
    low, high = min(known), max(known)
    spare = (high - low) * margin or max(abs(high), 1.0) * margin
    return Scale(max(0.0, low - spare) if low >= 0 else low - spare, high + spare, start, end)


def number(value: float) -> str:
    """As short as it is exact to three digits, with a true minus."""
    return f"{value:.3g}".replace("-", "−")


def polyline(points: Sequence[tuple[float, float]], kind: str) -> str:
    return element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind)


def _plain(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
