"""What the simulated classroom understands of a sentence: numbers, expressions, equations and a few cues.

A small closed language on purpose. Case, spacing and the usual signs for times and divide do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "’": "'", "“": '"', "”": '"'})
_NUMBER = r"(?<![\d.])\d{1,9}(?![\d.]*\d)"
_WORDED = (
    (re.compile(r"(?<=\d) (?:times|multiplied by|x) (?=\d)"), " * "),
    (re.compile(r"(?<=\d) (?:plus|added to) (?=\d)"), " + "),
    (re.compile(r"(?<=\d) minus (?=\d)"), " - "),
    (re.compile(r"(?<=\d) (?:divided by|over) (?=\d)"), " / "),
    (re.compile(r"multiply (\d+) (?:and|by|with|times) (\d+)"), r"\1 * \2"),
    (re.compile(r"add (\d+) (?:and|to|plus) (\d+)"), r"\1 + \2"),
    (re.compile(r"(?:subtract|take) (\d+) from (\d+)"), r"\2 - \1"),
    (re.compile(r"divide (\d+) (?:by|into) (\d+)"), r"\1 / \2"),
)
# Labels and numbers are bounded, so that reading stays linear in the length of a text.
_EXPRESSION = re.compile(rf"({_NUMBER}) ?([-+*/]) ?({_NUMBER})")
_EQUATION = re.compile(
    rf"(?:\b([a-z][a-z ]{{0,40}}?) ?(?:=|is|are) ?)?({_NUMBER}) ?([-+*/]) ?({_NUMBER}) ?= ?({_NUMBER})"
)
_CLAIM = re.compile(
    rf"\b([a-z][a-z ]{{0,40}}?) ?(?:=|is|are|equals|gives|makes) ?(?:just |only )?({_NUMBER})(?! ?[-+*/] ?\d)"
)
_DICTATION = re.compile(
    r"\b(?:repeat|copy)\b(?: after me| this| that| it)?[ :,\"]*(?P<words>.*)"
    r"|\b(?:say|write)(?: down| this| that| it| to me)* ?[:\"] ?(?P<quoted>.*)"
    r"|\b(?:say|write)(?: down| this| that)* (?P<number>[a-z ]{0,40}\b(?:is|=) ?\d+.*)"
    r"|\bsay it\b"
)  # fmt: skip

_REQUEST = re.compile(r"\?|\b(?:how|what|find|work out|compute|show me|get|tell me|check)\b")
# A question or request for something, up to the words that name it: "how do you find", "what is", "please compute".
_FINDING = (
    r"(?:find|get|work out|figure out|compute|calculate|determine|obtain|solve for|look for|write down|check"
    r"|show me|tell me|give me|think about)"
)
_LEAD = re.compile(
    rf"\bhow (?:(?:do|can|could|would|will|should|did) (?:you|we|i) )?(?:to )?{_FINDING}\b"
    rf"|\b(?:can|could|would|will) you (?:please |now |try to )?{_FINDING}\b"
    r"|\bwhat(?: is|'s| are| was| about| would| do you get for)\b"
    r"|\bhow about\b|\bhow (?:much|many|big|large|long) (?:is|are)\b"
    rf"|(?:^|[.?!,;:] |\b(?:and|now|then|please|first|let us|let's|try to) ){_FINDING}\b"
)
_FILLER = (
    r"(?:the|a|an|your|this|that|its|their|our|what|which|is|are|be|value|size|of|for|out|me|us|now|next|first|then"
    r"|here|so|also|again|both|please|and|or)"
)
_MAX_WANTED_CHARS = 120
# Words that stand twice in a row in sound English too.
_GARBLED = re.compile(
    r"\b(?!(?:had|that|very|really|so|no|bye|ha) )([a-z]{2,}|a) \1\b"
    r"|(?<!\.)\.\.(?!\.)|[,;:] ?(?:[?!,;]|\.(?!\.\.))|[?!][a-z]|\b(?:the|an|your)(?: ?(?:[?!,]|\.(?!\.\.))|$)"
)
_QUESTION = re.compile(r"[^.?!]{0,200}\?")
_ATTEMPT = re.compile(
    r"\b(?:try|attempt|have a go|give it a go|your idea|first idea|your turn|how would you|where would you"
    r"|what would you|how do you start|what do you think|what comes to mind)\b"
)
_WHY = re.compile(r"\b(?:why|explain|how do you know|how can you tell|what makes you)\b")
_RETRY = re.compile(r"\b(?:again|once more|check|look back|another look)\b")
_DENIAL = re.compile(
    r"\b(?:wrong|incorrect|not (?:right|correct|true|quite|so)|no(?=[,.!;])|isn't right|mistake|error)\b"
)
_CONFIRMATION = re.compile(r"\b(?:right|correct|yes|exactly|that works|well done|true|good work|good job)\b")
_TEACHING = re.compile(r"\b(?:problem|step|idea|number|numbers|start|solve|think of a plan|plan)\b")
_METHOD = re.compile(
    r"\b(?:multiply|multiplied|divide|divided|add|added|subtract|subtracted|times|plus|minus)\b"
)
_PROPOSAL = re.compile(r"\b(?:i would|i tried|i try|i guess|my idea|maybe i)\b")
_REVIEWER = re.compile(
    r"\b(?:judge|judges|reviewer|grader|evaluator|evaluation|verdict)\b|\bdecision\W{0,3}:|\bsystem:"
)
_CLUTTER = re.compile(r"^ *(?:#|[-*•] |\d+[.)] )|[\u2600-\u27bf\U0001f300-\U0001faff]", re.MULTILINE)

Expression = tuple[int, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Equation:
    """`label = left operator right = value`; the label may be empty."""

    label: str
    expression: Expression
    value: int

    @property
    def ordered(self) -> Expression:
        return ordered(self.expression)

    @property
    def holds(self) -> bool:
        return evaluate(self.expression) == self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`subject is value`, without the way there."""

    subject: str
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One message, understood as far as this classroom goes."""

    text: str  # normalised
    numbers: frozenset[int]
    expressions: frozenset[Expression]
    equations: tuple[Equation, ...]
    claims: tuple[Claim, ...]
    dictated: (
        str | None
    )  # the words to be repeated; "" when only told to repeat; None when nothing is dictated
    requests: bool  # this and the next three: False when garbled
    wanted: tuple[str, ...]  # the words behind each "how do you find", "what is" ...; empty when garbled
    asks_attempt: bool
    asks_why: bool
    asks_retry: bool
    denies: bool
    confirms: bool
    proposes: bool
    methods: frozenset[str]  # words for operations
    addresses_reviewer: bool
    questions: frozenset[str]
    is_cluttered: bool  # headings, lists, emoji, or questions piled up
    is_garbled: bool  # a word twice in a row, broken punctuation, an article without its noun

    def mentions(self, phrase: str) -> bool:
        """Whether the phrase occurs as whole words."""
        return mentions(self.text, phrase)

    @property
    def is_blank(self) -> bool:
        return not re.search(r"\w", self.text)

    @property
    def teaches(self) -> bool:
        """Whether the message turns the student to the problem at all."""
        return bool(
            self.asks_attempt or self.asks_why or self.expressions or self.claims
            or (self.requests and _TEACHING.search(self.text))
        )  # fmt: skip


@lru_cache(maxsize=65536)
def read(text: str) -> Reading:
    plain = normalise(text)
    denies = _DENIAL.search(plain) is not None
    is_garbled = _GARBLED.search(plain) is not None
    return Reading(
        text=plain,
        numbers=frozenset(int(n) for n in re.findall(_NUMBER, plain)),
        expressions=frozenset(_ordered(m) for m in _EXPRESSION.findall(plain)),
        equations=tuple(
            Equation(label=(label or "").strip(), expression=(int(a), op, int(b)), value=int(value))
            for label, a, op, b, value in _EQUATION.findall(plain)
        ),
        claims=tuple(Claim(subject=s.strip(), value=int(v)) for s, v in _CLAIM.findall(plain)),
        dictated=_dictated(plain),
        requests=not is_garbled and _REQUEST.search(plain) is not None,
        wanted=() if is_garbled else _wanted(plain),
        asks_attempt=not is_garbled and _ATTEMPT.search(plain) is not None,
        asks_why=not is_garbled and _WHY.search(plain) is not None,
        asks_retry=not is_garbled and _RETRY.search(plain) is not None,
        denies=denies,
        confirms=not denies and _CONFIRMATION.search(plain) is not None,
        proposes=_PROPOSAL.search(plain) is not None,
        methods=frozenset(_METHOD.findall(plain)),
        addresses_reviewer=_REVIEWER.search(plain) is not None,
        questions=frozenset(question.strip() for question in _QUESTION.findall(plain)),
        is_cluttered=_CLUTTER.search(text) is not None or text.count("?") > 2,
        is_garbled=is_garbled,
    )


def normalise(text: str) -> str:
    """Lower case, single blanks, one sign per operation; worded sums between numbers become expressions."""
    plain = re.sub(r"\s+", " ", text.translate(_SIGNS).lower()).strip()
    for pattern, replacement in _WORDED:
        plain = pattern.sub(replacement, plain)
    return plain


def mentions(text: str, phrase: str) -> bool:
    """Whether the phrase occurs in normalised text as whole words."""
    return phrase in text and re.search(rf"\b{re.escape(phrase)}\b", text) is not None


def evaluate(expression: Expression) -> float:
    left, sign, right = expression
    if sign == "/":
        return left / right if right else float("nan")
    return {"+": left + right, "-": left - right, "*": left * right}[sign]


def ordered(expression: Expression) -> Expression:
    """One form for `3 * 60` and `60 * 3`, which are the same step."""
    left, sign, right = expression
    return (min(left, right), sign, max(left, right)) if sign in "+*" else expression


def parse_expression(text: str) -> Expression:
    """The expression of a worked step, e.g. '60 * 3', in its ordered form."""
    left, sign, right = text.split()
    return ordered((int(left), sign, int(right)))


def requested(phrases: Sequence[str], reading: Reading) -> list[int]:
    """Indices of the phrases that a message asks for. Between the asking words and a phrase only other phrases
    and a few small words may stand."""
    chain = re.compile(rf"(?:(?:{'|'.join(map(re.escape, phrases))}|{_FILLER})\b,? ?)*")
    asked = " ; ".join(found[0] for words in reading.wanted if (found := chain.match(words)))
    return [index for index, phrase in enumerate(phrases) if mentions(asked, phrase)]


def _ordered(found: tuple[str, str, str]) -> Expression:
    return ordered((int(found[0]), found[1], int(found[2])))


def _wanted(plain: str) -> tuple[str, ...]:
    ends = [lead.end() for lead in _LEAD.finditer(plain)]
    return tuple(plain[end : end + _MAX_WANTED_CHARS].lstrip() for end in ends)


def _dictated(plain: str) -> str | None:
    match = _DICTATION.search(plain)
    if match is None or "own words" in plain:
        return None
    words = match["words"] or match["quoted"] or match["number"] or ""
    return words.strip(' "')
