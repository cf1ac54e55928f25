"""One source problem, rewriter and student behind real HTTP: what is kept, tried again, and left open."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
import yaml
from aiohttp import web
from llm_servers import chat_server, endpoint

from eduardo.answers import Grader
from eduardo.dataset import Location
from eduardo.errors import EndpointError
from eduardo.llm import ChatClient
from eduardo.resources import configs_dir
from eduardo.settings import GraderSettings
from eduardo.student import TestTaker
from eduardo.transfer_generation.near_copies import NearCopies
from eduardo.transfer_generation.outcome import Kept, NotMeasured, Reason, Row, Variant
from eduardo.transfer_generation.rewriter import Rewriter
from eduardo.transfer_generation.settings import GenerationSettings
from eduardo.transfer_generation.source import SourceProblem
from eduardo.transfer_generation.work import Tools, work_on
from eduardo.types import Outcome, Problem

CONFIG = yaml.safe_load((configs_dir() / "create_transfer_dataset.yaml").read_text())["generation"]
SOURCE = SourceProblem(
    id="s" * 16,
    split="train",
    problem=Problem(
        text="A robe takes 2 bolts of blue fiber and 1 bolt of white. How many bolts in all?", answer="3"
    ),
    solution=None,
    group=None,
    extras={},
    where=Location("f.jsonl", 1, 1),
)
OTHER = "A farm sells 5 pears and 7 plums. How many fruits does it sell?"


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    settings = yaml.safe_load((configs_dir() / "grader" / "default.yaml").read_text())
    with Grader(GraderSettings(**{**settings, "timeout_s": 30.0})) as grader:
        yield grader


def variant(problem: str = OTHER, answer: str = "12", refusal: str = "") -> str:
    return json.dumps({"refusal": refusal, "problem": problem, "solution": "", "answer": answer})


class Classroom:
    """Answers by who is asked for what: variants in order, blind solves, and attempts of which so many are right."""

    def __init__(
        self, variants: list[str], *, blind: str = "12", right: dict[str, int] | None = None
    ) -> None:
        self.variants, self.blind = variants, blind
        self.right = {"robe": 4, "fruits": 4, **(right or {})}
        self.rewriter_prompts: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.schema_refused = False
        self.num_failures, self.failing, self.status = 0, "student", 403

    async def chat(self, request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        self.requests.append(body)
        text = body["messages"][-1]["content"]
        if self.num_failures and body["model"] == self.failing:
            self.num_failures -= 1
            return web.json_response({"error": {"message": "gone"}}, status=self.status)
        if body["messages"][0]["role"] == "system":
            if self.schema_refused and "response_format" in body:
                return web.json_response({"error": {"message": "no response_format here"}}, status=400)
            self.rewriter_prompts.append(text)
            return reply([self.variants[len(self.rewriter_prompts) - 1]])
        if body["model"] == "rewriter":
            return reply([f"So \\boxed{{{self.blind}}}."] * body["n"])
        key, right = next((self.answer(name), count) for name, count in self.right.items() if name in text)
        return reply([f"\\boxed{{{key}}}"] * right + ["\\boxed{-1}"] * (body["n"] - right))

    def answer(self, name: str) -> str:
        return "3" if name == "robe" else "12"


def reply(texts: list[str]) -> web.Response:
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 100, "completion_tokens": 10 * len(texts)}
    return web.json_response({"choices": choices, "usage": usage})


@asynccontextmanager
async def tools(
    classroom: Classroom, grader: Grader, change: Callable[[dict[str, Any]], None] = lambda config: None
) -> AsyncIterator[Tools]:
    config = json.loads(json.dumps(CONFIG))
    change(config)
    settings = GenerationSettings(**config)
    async with (
        chat_server(classroom.chat) as url,
        ChatClient(endpoint(url, model="rewriter")) as writer,
        ChatClient(endpoint(url, model="student")) as s,
    ):
        yield Tools(
            settings=settings,
            rewriter=Rewriter(writer, settings.rewrite),
            solver=TestTaker(writer),
            student=TestTaker(s),
            grader=grader,
            sources=NearCopies(settings.near_copies.similarity, [(SOURCE.id, SOURCE.problem.text)]),
        )


async def work(
    classroom: Classroom, grader: Grader, change: Callable[[dict[str, Any]], None] = lambda config: None
) -> Row:
    async with tools(classroom, grader, change) as with_tools:
        return await work_on(SOURCE, with_tools)


async def only_variant(classroom: Classroom, grader: Grader, **kwargs: Any) -> Variant:
    [one] = (await work(classroom, grader, **kwargs)).variants
    return one


def reasons(one: Variant) -> list[Reason | None]:
    return [tried.reason for tried in one.rounds]


async def test_a_sound_variant_of_like_difficulty_is_accepted_at_once(grader: Grader) -> None:
    classroom = Classroom([variant()])
    row = await work(classroom, grader)
    [one] = row.variants
    assert one.kept is Kept.ACCEPTED and one.choice is not None and one.choice.draft is not None
    assert (one.choice.draft.problem, one.choice.draft.answer) == (OTHER, "12")
    assert row.source_rate.value == 0.25 and one.choice.rate is not None and one.choice.rate.value == 0.25
    assert (row.student_usage.num_requests, row.rewriter_usage.num_requests) == (2, 2)
    assert (row.student_usage.completion_tokens, row.rewriter_usage.prompt_tokens) == (320, 200)


async def test_the_student_is_asked_once_for_all_samples_and_the_solver_greedily(grader: Grader) -> None:
    classroom = Classroom([variant()])
    await work(classroom, grader)
    asked = [
        (body["model"], body["n"], body["temperature"], body["max_tokens"]) for body in classroom.requests
    ]
    assert asked == [
        ("student", 16, 0.6, 1024), ("rewriter", 1, 0.7, 4096), ("rewriter", 1, 0.0, 4096), ("student", 16, 0.6, 1024),
    ]  # fmt: skip
    assert len({body["seed"] for body in classroom.requests}) == 4


@pytest.mark.parametrize(
    ("bad", "reason", "said"),
    [
        ("no idea", Reason.UNREADABLE, "not readable"),
        (variant(SOURCE.problem.text, "3"), Reason.NEAR_COPY, "the source problem"),
        (variant(answer="12.5"), Reason.UNCLEAN_ANSWER, "whole number"),
        (variant(answer="\\frac{1}{"), Reason.UNCLEAN_ANSWER, "braces"),
        (variant(answer="13"), Reason.NOT_REPRODUCED, "stated '13', blind solve: 12"),
    ],
)
async def test_a_bad_variant_is_tried_again_with_the_reason(
    bad: str, reason: Reason, said: str, grader: Grader
) -> None:
    classroom = Classroom([bad, variant()])
    one = await only_variant(classroom, grader)
    assert reasons(one) == [reason, None] and one.chosen == 2
    assert said in classroom.rewriter_prompts[1]


async def test_after_the_last_round_a_row_has_no_variant(grader: Grader) -> None:
    classroom = Classroom([variant(answer="13")] * 3)
    one = await only_variant(classroom, grader)
    assert reasons(one) == [Reason.NOT_REPRODUCED] * 3
    assert (one.kept, one.choice) == (None, None)
    assert len({tried.seed for tried in one.rounds}) == 3


async def test_a_refusal_ends_the_rounds(grader: Grader) -> None:
    one = await only_variant(Classroom([variant("", "", "I do not know this kind.")]), grader)
    assert reasons(one) == [Reason.REFUSED] and one.kept is None


HARD = "A farm sells 5 hard pears and 7 plums. What is their number?"
EASY = "A farm sells 5 easy pears and 7 plums. What is their number?"
DIFFICULTIES = {"robe": 4, "easy": 13, "hard": 11, "fruits": 8}


@pytest.mark.parametrize(
    ("texts", "expected", "chosen"),
    [
        ([EASY, OTHER], [Reason.TOO_EASY, None], 2),
        ([HARD, OTHER], [Reason.RATE_GAP, None], 2),
        ([EASY, HARD, EASY], [Reason.TOO_EASY, Reason.RATE_GAP, Reason.TOO_EASY], 2),
    ],
)
async def test_another_difficulty_is_tried_again_and_the_closest_is_kept(
    texts: list[str], expected: list[Reason | None], chosen: int, grader: Grader
) -> None:
    classroom = Classroom([variant(text) for text in texts], right=DIFFICULTIES)
    one = await only_variant(classroom, grader)
    assert reasons(one) == expected and one.chosen == chosen
    assert one.kept is (Kept.ACCEPTED if expected[-1] is None else Kept.CLOSEST)
    assert "make it harder" in classroom.rewriter_prompts[1]


async def test_the_closest_is_kept_only_where_that_is_wanted(grader: Grader) -> None:
    def never(config: dict[str, Any]) -> None:
        config["rewrite"]["keep_closest"] = False

    one = await only_variant(Classroom([variant(HARD)] * 3, right=DIFFICULTIES), grader, change=never)
    assert reasons(one) == [Reason.RATE_GAP] * 3 and one.kept is None


async def test_limits_are_inclusive(grader: Grader) -> None:
    at_the_limit = {"robe": 6, "fruits": 12}  # 0.375 and 0.75
    one = await only_variant(Classroom([variant()], right=at_the_limit), grader)
    assert one.kept is Kept.ACCEPTED


async def test_three_blind_solves_decide_by_majority(grader: Grader) -> None:
    def three(config: dict[str, Any]) -> None:
        config["blind_solve"].update(num_samples=3, temperature=0.6)

    class Split(Classroom):
        async def chat(self, request: web.Request) -> web.Response:
            body = orjson.loads(await request.read())
            if body["model"] == "rewriter" and body["n"] == 3:
                return reply([f"\\boxed{{{answer}}}" for answer in self.blind.split()])
            return await super().chat(request)

    assert (
        await only_variant(Split([variant()], blind="12 12 9"), grader, change=three)
    ).kept is Kept.ACCEPTED
    one = await only_variant(Split([variant()] * 3, blind="12 9 8"), grader, change=three)
    assert one.kept is None and "12, 9, 8" in one.rounds[0].detail


async def test_several_variants_of_one_problem_differ(grader: Grader) -> None:
    def two(config: dict[str, Any]) -> None:
        config["variants_per_problem"] = 2

    classroom = Classroom([variant(), variant(), variant(OTHER.replace("5 pears", "9 pears"))])
    row = await work(classroom, grader, two)
    assert [one.index for one in row.variants] == [1, 2]
    assert reasons(row.variants[1]) == [Reason.NEAR_COPY, None]
    assert OTHER in classroom.rewriter_prompts[1] and "variant 1" in row.variants[1].rounds[0].detail


async def test_a_server_that_takes_no_schema_is_asked_without(grader: Grader) -> None:
    classroom = Classroom([variant()])
    classroom.schema_refused = True
    assert (await only_variant(classroom, grader)).kept is Kept.ACCEPTED


async def test_what_an_endpoint_owes_is_neither_kept_nor_rejected(grader: Grader) -> None:
    classroom = Classroom([variant()] * 2)
    classroom.num_failures = 1
    async with tools(classroom, grader) as with_tools:
        with pytest.raises((EndpointError, NotMeasured)):
            await work_on(SOURCE, with_tools)
        assert (await work_on(SOURCE, with_tools)).variants[0].kept is Kept.ACCEPTED


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_problem_that_the_student_s_endpoint_refuses_for_good_is_done_with(
    status: int, grader: Grader
) -> None:
    classroom = Classroom([])
    classroom.num_failures, classroom.status = 9, status
    row = await work(classroom, grader)
    assert row.source_rate is None
    assert row.refusal is not None and "gone" in row.refusal.detail
    assert [reasons(one) for one in row.variants] == [[Reason.ENDPOINT_REFUSED]]


async def test_a_round_that_the_rewriter_s_endpoint_refuses_ends_the_rounds(grader: Grader) -> None:
    classroom = Classroom([])
    classroom.num_failures, classroom.failing, classroom.status = 9, "rewriter", 400
    row = await work(classroom, grader)
    assert row.source_rate is not None and row.source_rate.value == 0.25
    assert [reasons(one) for one in row.variants] == [[Reason.ENDPOINT_REFUSED]]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refusal_that_says_nothing_about_the_problem_is_none_of_the_row(
    status: int, grader: Grader
) -> None:
    classroom = Classroom([])
    classroom.num_failures, classroom.status = 9, status
    with pytest.raises(EndpointError):
        await work(classroom, grader)


async def test_too_few_graded_attempts_leave_the_row_open(grader: Grader) -> None:
    class Short(Classroom):
        async def chat(self, request: web.Request) -> web.Response:
            response = await super().chat(request)
            content = orjson.loads(response.body)  # type: ignore[arg-type]
            for choice in content["choices"][:5] if len(content["choices"]) == 16 else []:
                choice["finish_reason"] = "content_filter"
            return web.json_response(content)

    with pytest.raises(NotMeasured, match="fewer than 12"):
        await work(Short([variant()]), grader)


async def test_the_second_grader_can_object_to_an_answer_in_other_words(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    async def object_to(key: str, answer: str) -> Outcome:
        asked.append((key, answer))
        return Outcome.WRONG

    monkeypatch.setattr(grader, "second_opinion", object_to)
    one = await only_variant(Classroom([variant()] * 3, blind="12.0"), grader)
    assert reasons(one) == [Reason.GRADERS_DISAGREE] * 3 and asked == [("12", "12.0")] * 3
    assert (await only_variant(Classroom([variant()]), grader)).kept is Kept.ACCEPTED


async def test_the_second_grader_may_be_unsure(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unsure(key: str, answer: str) -> None:
        return None

    monkeypatch.setattr(grader, "second_opinion", unsure)
    assert (await only_variant(Classroom([variant()], blind="12.0"), grader)).kept is Kept.ACCEPTED


@pytest.mark.timeout(180)
async def test_the_second_grader_is_math_verify(grader: Grader) -> None:
    assert await grader.second_opinion("\\frac{1}{2}", "0.5") is Outcome.RIGHT
    assert await grader.second_opinion("12", "13") is Outcome.WRONG
    assert await grader.second_opinion("12", "9^{9^{9^9}}") is None
