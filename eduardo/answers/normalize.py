"""One spelling for what LaTeX, Unicode and plain text write in many ways. Pure text; nothing is evaluated."""

from __future__ import annotations

import re
import unicodedata

_UNICODE = str.maketrans(
    {
        **dict.fromkeys("−–—‒﹣", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u2002\u2003\u3000", " "),
        **dict.fromkeys("\u200b\u2061\u2062\ufeff", ""),
        **dict.fromkeys("‘’′", "'"),
        "×": "\\times ",
        "·": "\\cdot ",
        "⋅": "\\cdot ",
        "÷": "/",
        "∕": "/",
        "√": "\\sqrt ",
        "π": "\\pi ",
        "∞": "\\infty ",
        "≤": "\\le ",
        "≥": "\\ge ",
        "≠": "\\ne ",
        "≈": "\\approx ",
        "±": "\\pm ",
        "∪": "\\cup ",
        "∩": "\\cap ",
        "∈": "\\in ",
        "∅": "\\emptyset ",
        "ℝ": "\\mathbb{R}",
        "°": "\\degree ",
        "θ": "\\theta ",
        "α": "\\alpha ",
        "β": "\\beta ",
        "λ": "\\lambda ",
        "，": ", ",
        "“": '"',
        "”": '"',
        **{c: f"^{{{n}}}" for n, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
        **{c: f"_{{{n}}}" for n, c in enumerate("₀₁₂₃₄₅₆₇₈₉")},
        **{
            c: f"\\frac{{{n}}}{{{d}}}"
            for c, n, d in (
                *(("½", 1, 2), ("⅓", 1, 3), ("⅔", 2, 3), ("¼", 1, 4), ("¾", 3, 4), ("⅕", 1, 5), ("⅖", 2, 5)),
                *(("⅗", 3, 5), ("⅘", 4, 5), ("⅙", 1, 6), ("⅚", 5, 6), ("⅛", 1, 8), ("⅜", 3, 8), ("⅝", 5, 8)),
                ("⅞", 7, 8),
            )
        },
    }
)
_DELIMITERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"), ('"', '"'), ("`", "`"))
_OUTER_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")

_SPELLINGS = {
    "\\frac": "dfrac tfrac cfrac",
    "\\binom": "dbinom tbinom",
    "\\le": "leq leqslant leqq",
    "\\ge": "geq geqslant geqq",
    "\\ne": "neq",
    "<": "lt",
    ">": "gt",
    "\\{": "lbrace",
    "\\}": "rbrace",
    "[": "lbrack",
    "]": "rbrack",
    "|": "lvert rvert vert",
    "\\cdot": "ast times",
    "/": "div",
    ":": "colon",
    "\\degree": "degrees",
    "\\emptyset": "varnothing",
    "\\text{cents}": "cent cents",
    "\\$": "dollar dollars textdollar",
    "\\%": "percent",
    "\\mathbb{R}": "R reals",
    "\\text": "textrm textbf textit textsf texttt textnormal mathrm mathbf mathit mathsf mathtt boldsymbol mbox hbox "
    "emph operatorname",
    "": "displaystyle textstyle scriptstyle limits nolimits left right middle big Big bigg Bigg bigl bigr Bigl Bigr",
    " ": "quad qquad enspace thinspace hfill",
}
_SAME_COMMAND = {name: spelling for spelling, names in _SPELLINGS.items() for name in names.split()}
_COMMAND = re.compile(r"\\\\|\\(left|right)\s*\.|\\([A-Za-z]+)|\\([,;:! ])")
_INSIDE_NUMBER = re.compile(r"(?<=\d)(?:\\[,;: ])+(?=\d)|\\!")
_SPACED_GROUPS = re.compile(r"(?<![\d.,])([1-9]\d{0,2}(?: \d{3})+)(?![\d,])")
_DEGREE = re.compile(r"\^\s*(?:\\circ|\{\s*\\circ\s*\})|\^\s*(?:\{\s*\\degree\s*\}|\\degree)")
_PLAIN_TEXT = re.compile(r"\\text\s*\{([^{}A-Za-z]*)\}")
_PLAIN_WORDS = re.compile(r"(?<![A-Za-z\\])(sqrt|sin|cos|tan|log|ln|exp|pi|infinity|infty)(?![A-Za-z])")
_SPELLING = (("<=", "\\le "), (">=", "\\ge "), ("!=", "\\ne "), ("+/-", "\\pm "), ("**", "^"), ("{,}", ","))


def clean(text: str) -> str:
    """Return `text` without delimiters, outer box and styling, in one spelling."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _join_scripts(text.translate(_UNICODE)))
    text = strip_delimiters(text)
    if "\\" in text:
        text = _clean_commands(text)
    for spelling, replacement in _SPELLING:
        if spelling in text:
            text = text.replace(spelling, replacement)
    text = _PLAIN_WORDS.sub(r"\\\1 ", text).replace("\\infinity", "\\infty").replace("~", " ")
    text = " ".join(text.split())
    text = _SPACED_GROUPS.sub(lambda match: match[1].replace(" ", ""), text)
    return strip_delimiters(text)


def strip_delimiters(text: str) -> str:
    """Remove enclosing math delimiters, emphasis, quotes and boxes, and the punctuation that ends a sentence."""
    while True:
        before = text
        text = text.strip().rstrip(".,;").strip() if not text.endswith("\\,") else text[:-2].strip()
        for left, right in _DELIMITERS:
            if len(text) > len(left) + len(right) and text.startswith(left) and text.endswith(right):
                inner = text[len(left) : -len(right)]
                if left not in inner and not inner.endswith("\\"):
                    text = inner
        text = _strip_box(text)
        if text == before:
            return text


def plain_text(cleaned: str) -> str:
    """Reduce cleaned text to what a reader sees as characters; equal results mean the same answer."""
    text = _SINGLE_GROUP.sub(r"\1", _TEXT_GROUP.sub(r" \1 ", cleaned))
    return _LOOSE_SPACE.sub("", " ".join(text.split()))


_TEXT_GROUP = re.compile(r"\\text\s*\{([^{}]*)\}")
_SINGLE_GROUP = re.compile(r"(?<!\\)\{(\w)\}")
_LOOSE_SPACE = re.compile(
    r"(?<![^\W\d_]) (?!\d)|(?<!\d) (?![^\W\d_])"
)  # not between letters, not between digits


def _join_scripts(text: str) -> str:
    """`x^{1}^{2}`, as neighbouring superscript characters come out, is `x^{12}`."""
    text = re.sub(r"(?<=\d)\}\^\{(?=\d\})", "", text)
    return re.sub(r"(?<=\d)\}_\{(?=\d\})", "", text)


def _clean_commands(text: str) -> str:
    text = _INSIDE_NUMBER.sub("", text)
    text = _COMMAND.sub(_replace_command, text)
    text = _DEGREE.sub(r"\\degree ", text)
    return _PLAIN_TEXT.sub(r" \1 ", text)


def _replace_command(match: re.Match[str]) -> str:
    bare_delimiter, name, _space = match.group(1, 2, 3)
    if bare_delimiter:
        return ""
    if name is not None:
        return _SAME_COMMAND.get(name, match.group())
    return match.group() if match.group() == "\\\\" else " "


def _strip_box(text: str) -> str:
    opening = _OUTER_BOX.match(text)
    if opening is None or not text.endswith("}"):
        return text
    depth = 0
    for token in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0 and token.group() == "}":
            return text[opening.end() : -1] if token.end() == len(text) else text
    return text
