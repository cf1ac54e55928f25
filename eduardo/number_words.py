"""English words for numbers. `TENS[0]` is twenty; `VALUES` holds every word that stands for one number below 100."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
VALUES: Mapping[str, int] = MappingProxyType(
    {word: value for value, word in enumerate(ONES)}
    | {word: 10 * value for value, word in enumerate(TENS, start=2)}
)
