"""Right and wrong, by kind of answer. Each table row is (key, final answer); see `eduardo.answers` for the policies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from eduardo.answers import Grader, check_key
from eduardo.answers.exact import Key, decide, read_key
from eduardo.answers.verdict import Verdict
from eduardo.resources import configs_dir
from eduardo.settings import GraderSettings
from eduardo.types import Outcome

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data/grading.jsonl").read_text().splitlines()]


SETTINGS = GraderSettings(**yaml.safe_load((configs_dir() / "grader" / "default.yaml").read_text()))


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(SETTINGS) as grader:
        yield grader


def is_right(grader: Grader, key: str, attempt: str) -> bool:
    (grade,) = grader.grade_many(key, [attempt])
    return grade.outcome is Outcome.RIGHT


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_recorded_pair(grader: Grader, row: dict[str, Any]) -> None:
    assert is_right(grader, row["answer_key"], row["attempt"]) == row["correct"]


async def test_recorded_pairs_get_the_same_grades_in_threads_and_on_an_event_loop() -> None:
    pairs = [(row["answer_key"], [row["attempt"]]) for row in ROWS]
    patient = SETTINGS.model_copy(update={"cache_size": 0, "timeout_s": 30.0})  # the machine may be busy
    with Grader(patient) as grader:
        with ThreadPoolExecutor(4) as threads:
            threaded = list(threads.map(lambda pair: grader.grade_many(*pair), pairs))
        looped = list(await asyncio.gather(*(grader.grade_many_async(*pair) for pair in pairs)))
    assert threaded == looped
    assert [grade.outcome is Outcome.RIGHT for (grade,) in threaded] == [row["correct"] for row in ROWS]


ATTEMPTS = [
    # (case, key, attempt, right)
    ("G01", r"\frac{1}{2}", r"So \boxed{\frac{1}{2}}.", True),
    ("G01", r"\sqrt{\frac{1}{2}}", r"\boxed{\sqrt{\frac{1}{2}}}", True),
    ("G01", r"\frac{a}{b}", r"\boxed{\frac ab}", True),
    ("G01", r"\frac12", r"\boxed{0.5}", True),
    ("G01", r"\{1,2\}", r"\boxed{\{2,1\}}", True),
    ("G01", "7", r"\fbox{7}", True),
    ("G02", "7", r"First \boxed{5}. No wait, \boxed{7}", True),
    ("G02", "5", r"First \boxed{5}. No wait, \boxed{7}", False),
    ("G02", "{3,5,7}", r"\boxed{3}, \boxed{5}, \boxed{7}", True),
    ("G02", "7", r"\boxed{7} " + "and so on " * 50 + r"so \boxed{7}", True),
    ("G02", "3", r"\boxed{1} or \boxed{3}", False),
    ("G03", "5", r"earlier \boxed{5} but finally \boxed{}", False),
    ("G03", "5", r"earlier \boxed{5} and then \boxed{6", False),
    ("G03", "4951077", "{@N 1276915 4951077 {1,1-3-10);5}", False),
    ("G03", "42", "Put your answer in \\boxed \n\\boxed{42}", True),
    ("G09", r"2\sqrt{3}", r"\boxed{2}", False),
    ("G09", r"2\sqrt{3}", r"\boxed{2\sqrt3}", True),
    ("G09", r"3\pm\sqrt{2}", r"\boxed{3}", False),
    ("G09", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\boxed{2}", False),
    ("G09", "3*x-1*y+13=0", r"\boxed{3x + 4y + 14=0}", False),
    ("G09", "3*x-1*y+13=0", r"\boxed{3x - y + 13=0}", True),
]


@pytest.mark.parametrize(
    ("case", "key", "attempt", "right"), ATTEMPTS, ids=[f"{c[0]} {c[1]}" for c in ATTEMPTS]
)
def test_field_case(grader: Grader, case: str, key: str, attempt: str, right: bool) -> None:
    assert is_right(grader, key, attempt) == right


SAME = {
    "G04 thousands": [
        *(
            ("12345", "12,345"),
            ("12345", "12{,}345"),
            ("12345", r"12\,345"),
            ("12345", r"12\!,345"),
            ("12345", "12 345"),
        ),
        *(
            ("1000000", "1,000,000"),
            ("12,345.67", "12345.67"),
            ("100,200", "100, 200"),
            ("1,234,567", r"1{,}234{,}567"),
        ),
    ],
    "G04 lists and tuples": [
        *(("0,1", "0, 1"), ("0,1", "1,0"), ("12,34", "12,34"), ("12,34", "34,12"), ("(0,1)", "0,1")),
        *(
            ("(1,234)", "(1, 234)"),
            ("(-1,2)", "( -1 , 2 )"),
            ("(1,2)", r"\left(1, 2\right)"),
            (r"\{5\}", "5"),
        ),
    ],
    "G06 percent": [
        (r"50\%", r"50\%"),
        (r"50\%", "50"),
        (r"50\%", "0.5"),
        ("25", r"25\text{ percent}"),
        ("25", "25%"),
    ],
    "G06 full stop": [("12", "12."), ("even", r"\text{Even}.")],
    "G06 units": [
        *(
            ("12", r"12\text{ cm}^2"),
            ("60", r"60\ \text{km/h}"),
            ("60 mph", "60"),
            ("5", "5 apples"),
            ("5", "5 m"),
        ),
        *((r"9\pi", r"9\pi\text{ cm}^2"), ("3/4 cup", r"\frac{3}{4}"), ("5", r"5\text{个}"), ("5", "5个")),
    ],
    "G06 conversion": [
        *((r"100\text{ cm}", r"1\text{ m}"), ("2 hours", "120 minutes"), ("20 m/s", r"72 \text{ km/h}")),
        *(
            (r"\$0.05", r"5\text{ cents}"),
            ("15 minutes", r"0.25 \text{ hours}"),
            (r"1 \text{ m}^2", "10000 cm^2"),
        ),
    ],
    "G06 degrees": [
        ("90", r"90^\circ"),
        ("90", r"90\text{ degrees}"),
        (r"45^{\circ}", "45°"),
        (r"\sin 30^\circ", "0.5"),
    ],
    "G06 currency": [
        *(
            ("18.90", r"\$18.9"),
            ("18.90", r"18.9\text{ dollars}"),
            ("1000", "$1,000"),
            (r"\$40{,}000", "40000"),
        ),
        *(("5", "€5"), ("5", "5 euros")),
    ],
    "G06 bases": [
        ("1001_2", "1001_{2}"),
        (r"1001_{\text{two}}", "1001_2"),
        ("9_{10}", "9"),
        ("4A_{16}", "4A_{16}"),
    ],
    "G06 scientific": [("120000", "1.2e5"), (r"3\times10^{-2}", "0.03"), (r"3\cdot10^8", r"3 \times 10^8")],
    "G07 equations": [
        *(
            ("x=5", "5"),
            ("x=5", "5 = x"),
            ("y=2x+3", "y = 3 + 2x"),
            ("y=2x+3", "2x+3"),
            ("y=2x+3", "2x - y + 3 = 0"),
        ),
        *(
            ("x=10", "2x=20"),
            ("m+n=17", "17"),
            (r"\angle ABC = 40^\circ", "40"),
            ("f(x)=x^2", "x^2"),
            ("12", "x=3*4=12"),
        ),
    ],
    "G07 several solutions": [
        *(
            (r"x=\pm 2", "x=2, x=-2"),
            (r"\pm 2", "-2, 2"),
            (r"x = 2 \text{ or } x=3", "2, 3"),
            ("2,2^2", r"4 \text{ and } 2"),
        ),
        *(("x=2,y=3", "(2,3)"), ("x=2,y=3", "y=3, x=2"), ("x=2,y=3", "2,3")),
        *((r"3\pm\sqrt{2}", r"3+\sqrt2, 3-\sqrt2"),),
    ],
    "G07 inequalities": [
        *(
            ("x<3", r"(-\infty,3)"),
            ("x<3", "3>x"),
            (r"2<x\le5", "(2,5]"),
            (r"x\ge 2", r"[2,\infty)"),
            ("x+y<3", "3>y+x"),
        ),
        *((r"x \in [2,5)", r"2 \le x < 5"), (r"\{x \mid x<3\}", "x<3"), (r"\mathbb{R}", r"(-\infty,\infty)")),
        *(
            (r"x<-1 \text{ or } x>1", r"(1,\infty)\cup(-\infty,-1)"),
            ("x<=3", r"x\leq 3"),
            (r"\ln x+y<3", r"2y+2\ln x<6"),
        ),
    ],
    "G07 sets": [
        (r"\{1,2,3\}", r"\{3,1,2\}"),
        ("no solution", r"\emptyset"),
        (r"\varnothing", r"\{\}"),
        ("1,2", r"\{2,1\}"),
    ],
    "fractions and decimals": [
        *(
            ("2 1/2", "2.5"),
            (r"-2\frac12", "-2.5"),
            ("2½", r"\frac{5}{2}"),
            (r"2\frac{1}{2}", r"\frac52"),
            ("-1/2", r"\frac{-1}{2}"),
        ),
        *(
            (r"0.\overline{3}", r"\frac13"),
            (r"0.1\overline{6}", "1/6"),
            ("3.0", "3"),
            (".5", "0.5"),
            ("-1", "−1"),
        ),
    ],
    "powers and factorials": [
        ("2^{10}", "1024"),
        ("2^{2020}", "4^{1010}"),
        ("5!", "120"),
        (r"\binom{5}{2}", "10"),
        ("x^10", "x^{10}"),
    ],
    "irrational": [
        *(
            (r"\frac{\sqrt{3}}{2}", r"\sqrt{\frac34}"),
            (r"2\pi", r"\pi \cdot 2"),
            ("9 pi", r"9\pi"),
            (r"e^{i\pi}", "-1"),
        ),
        *(
            (r"\ln 8", r"3\ln 2"),
            (r"\log_2 8", "3"),
            (r"\sqrt[3]{-8}", "-2"),
            (r"\sqrt{-4}", "2i"),
            ("sqrt(8)", r"2\sqrt{2}"),
        ),
        *(
            (r"\frac{1}{\sqrt2+1}", r"\sqrt2-1"),
            (r"\cos\frac{\pi}{3}", r"\frac12"),
            ("0", r"\sqrt8-2\sqrt2"),
            ("0", r"\sin\pi"),
            (r"\arctan 1", r"\frac{\pi}{4}"),
        ),
    ],
    "algebra": [
        *(
            ("x^2+2x+1", "(x+1)^2"),
            (r"|x|", r"\sqrt{x^2}"),
            (r"\frac{1}{x}", "x^{-1}"),
            ("2x/2", "x"),
            ("ab", "ba"),
        ),
        *(
            (r"\frac{x^2-1}{x-1}", "x+1"),
            (r"\sin^2 x + \cos^2 x", "1"),
            (r"\alpha+\beta", r"\beta + \alpha"),
            ("a_1+a_2", "a_{2}+a_1"),
        ),
    ],
    "times of day": [("3:30 PM", r"3:30 \text{ p.m.}"), ("3 pm", "3:00 PM")],
    "approximations": [("33.3", r"\approx 33.3"), ("5", "= 5")],
    "ratios": [
        ("3:4", r"3 \text{ to } 4"),
        ("1:2:3", "2:4:6"),
        ("3:4", "0.75"),
        ("12:00", "12:00"),
        ("10:30", "10:30"),
    ],
    "matrices": [
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix} 1 & 2 \\ 3 & 4.0 \end{bmatrix}"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "(1,2)"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\langle 1, 2 \rangle"),
    ],
    "choices": [
        *(
            ("B", "(B)"),
            (r"\text{(B)}", "B"),
            ("B", r"\text{(B) } 7"),
            ("B", "B. 7"),
            ("B", "b"),
            ("7", r"\textbf{(B)}\ 7"),
        ),
    ],
    "words": [
        *(
            ("Yes", r"\text{yes}"),
            ("right-angled", r"\text{right angled}"),
            ("the cat", "cat"),
            ("Alice and Bob", "Bob, Alice"),
        ),
        *(("Friday", r"\text{ Friday }"), ("cat", r"\text{cat}")),
    ],
    "delimiters": [
        (r"\boxed{7}", "$7$"),
        ("$$\\frac12$$", r"\(0.5\)"),
        (r"\[7\]", "**7**"),
        ("7", r"\boxed{7}"),
    ],
}
DIFFERENT = {
    "G04": [
        ("0,1", "01"),
        ("12,34", "1234"),
        ("(0,1)", "1,0"),
        ("[0,1]", "0,1"),
        ("12345", "12, 345"),
        ("1,1,2", "1,2"),
    ],
    "G06 percent": [("0.5", "50"), (r"50\%", r"0.5\%"), (r"50\%", "5")],
    "G06 units": [
        (r"5\text{ cm}", r"5\text{ m}"),
        ("5 cm", "5 kg"),
        ("5", "5x"),
        ("5", "5m"),
        ("3abc", "3"),
        ("5 cm", "5 cm^2"),
    ],
    "G06 bases": [("1001_2", "1001"), ("1001_2", "9"), ("1001_2", "1001_3")],
    "G07 names": [
        ("x=5", "y=5"),
        ("x=5", "x=6"),
        ("x<3", "y<3"),
        ("2x=10", "5"),
        ("y=2x+3", "2x-y=3"),
        ("x-y=0", "0"),
    ],
    "G07 guesses": [
        *(
            ("x=3", "x=1, x=2, x=3"),
            ("3", "1,2,3,4,5"),
            ("3", r"1 \text{ or } 3"),
            ("12", "x=3=12"),
            ("12", "12 = 13"),
        ),
        *((r"\pm2", "2"), ("2", r"\pm2"), ("x=2,y=3", "3,2"), ("3", r"\{1,2,3\}"), ("1,2", "1,2,3")),
    ],
    "G07 intervals": [
        ("[0,1]", "(0,1)"),
        ("(1,2)", "(2,1)"),
        ("x<3", r"x\le 3"),
        ("x<3", "3"),
        ("x+y<3", "x+y>3"),
        ("x<3", "x>3"),
    ],
    "decimals": [
        ("0.67", "2/3"),
        (r"\pi", "3.14"),
        ("2 1/2", "21/2"),
        (r"\frac{100}{3}", "33.3"),
        ("1.5", "1.50001"),
    ],
    "algebra": [
        (r"\sqrt{x^2}", "x"),
        ("x^2+C", "x^2"),
        ("x+1", "x-1"),
        ("(x+1)^2", "x^2+1"),
        (r"\ln x", r"\log_{10} x"),
    ],
    "near misses": [
        (r"e^{\pi\sqrt{163}}", "262537412640768744"),
        (r"\sqrt2", "1.41421356237309504880168872420969807856967187537694"),
    ],
    "times of day": [("3:30 PM", "3:30 AM")],
    "ratios": [("3:4", "4:3"), ("1:2:3", "1:2"), ("12:00", "1:00")],
    "matrices": [
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix} 1 & 3 \\ 2 & 4 \end{bmatrix}")
    ],
    "choices": [("B", "C"), (r"\text{(B) } 7", "(A) 7"), ("B", "8")],
    "words": [("even", "odd"), ("Yes", "No"), ("Friday", "5"), ("cat", "act")],
    "infinity": [(r"\infty", r"-\infty"), (r"\infty", "1")],
}
SAME_ROWS = [(f"{kind}: {a} and {b}", a, b) for kind, pairs in SAME.items() for a, b in pairs]
DIFFERENT_ROWS = [(f"{kind}: {a} and {b}", a, b) for kind, pairs in DIFFERENT.items() for a, b in pairs]


def exact_verdict(key: str, answer: str) -> Verdict:
    """The verdict of the exact comparison, which stands wherever it has one (`eduardo.answers.grader`)."""
    read = read_key(key)
    assert isinstance(read, Key), read
    return decide(read, answer).verdict


@pytest.mark.parametrize(("a", "b"), [row[1:] for row in SAME_ROWS], ids=[row[0] for row in SAME_ROWS])
def test_the_same_answer_is_right_whichever_side_is_the_key(a: str, b: str) -> None:
    assert exact_verdict(a, b) is Verdict.RIGHT
    assert exact_verdict(b, a) is Verdict.RIGHT


@pytest.mark.parametrize(
    ("a", "b"), [row[1:] for row in DIFFERENT_ROWS], ids=[row[0] for row in DIFFERENT_ROWS]
)
def test_a_different_answer_is_wrong_whichever_side_is_the_key(a: str, b: str) -> None:
    assert exact_verdict(a, b) is Verdict.WRONG
    assert exact_verdict(b, a) is Verdict.WRONG


@pytest.mark.slow
def test_the_second_stage_changes_no_verdict_of_the_tables(grader: Grader) -> None:
    for _, a, b in (*SAME_ROWS, *DIFFERENT_ROWS):
        expected = exact_verdict(a, b) is Verdict.RIGHT
        assert is_right(grader, a, f"\\boxed{{{b}}}") == expected, (a, b)
        assert is_right(grader, b, f"\\boxed{{{a}}}") == expected, (b, a)


def test_where_the_exact_comparison_cannot_tell_math_verify_decides(grader: Grader) -> None:
    assert exact_verdict(r"\sum_{k=1}^{3} k", "6") is Verdict.UNKNOWN
    assert is_right(grader, r"\sum_{k=1}^{3} k", r"\boxed{6}")
    assert not is_right(grader, r"\sum_{k=1}^{3} k", r"\boxed{7}")


KEYS = [
    *(
        r"(3, \frac{\pi}{2})",
        "[2,5)",
        r"\{1,2\}",
        r"25\%",
        r"\$5",
        "Friday",
        "B",
        r"\boxed{7}",
        "$7$",
        r"$$\frac12$$",
    ),
    *(
        r"x \equiv 3 \pmod 7",
        r"\begin{cases} 1 & x>0 \\ 2 & x<0 \end{cases}",
        r"\overline{AB} \parallel \overline{CD}",
    ),
    *(
        "18",
        "1,080",
        "-0.5",
        r"\frac{3}{4}",
        "12:00",
        "x=1, y=2",
        "3 hours",
        r"10^{100}",
        r"\infty",
        "No solution",
    ),
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_right_against_itself_in_a_box(grader: Grader, key: str) -> None:  # G09
    assert check_key(key) is None
    assert is_right(grader, key, f"Hence \\boxed{{{key}}}.")


BAD_KEYS = {
    **dict.fromkeys(["", "  ", "$$", "$ $", r"\boxed{}", "."], "empty"),
    **dict.fromkeys(["nan", "null", "None", "?", "n/a"], "placeholder"),
    **dict.fromkeys([r"\frac{1}{2", "5}", r"\boxed{7", "{"], "braces"),
    **dict.fromkeys([r"9^{9^9}", "(10^9)!", "((" * 100 + "1"], "costly"),
    "we see that " * 20 + "it holds": "prose",
}


@pytest.mark.parametrize(("key", "reason"), BAD_KEYS.items())
def test_an_unusable_key_is_named_and_never_makes_a_grade(grader: Grader, key: str, reason: str) -> None:
    assert reason in str(check_key(key))
    grades = grader.grade_many(key, [r"\boxed{5}", "no box"])
    assert [(grade.outcome, grade.answer) for grade in grades] == [
        (Outcome.UNGRADABLE, "5"),
        (Outcome.UNGRADABLE, None),
    ]


def test_a_second_stage_that_decides_otherwise_is_recorded(grader: Grader) -> None:
    (grade,) = grader.grade_many("x=10", [r"\boxed{2x=20}"])
    assert grade.outcome is Outcome.RIGHT
    assert grade.stages_disagree
    (grade,) = grader.grade_many(r"\sqrt8", [r"\boxed{2\sqrt2}"])
    assert not grade.stages_disagree
