"""The judge bench: labelled transcripts that hold together, and figures that tell judges apart."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from llm_servers import chat_reply, chat_server, endpoint

from eduardo.answers import check_key
from eduardo.classroom.problems import recognise
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.judge import Judge
from eduardo.judge_bench import cases as bench_cases
from eduardo.judge_bench.__main__ import main
from eduardo.judge_bench.bench import Judged, judge_all
from eduardo.judge_bench.cases import INJECTION, Case, all_cases, some_cases
from eduardo.judge_bench.figures import Measure, Subset, disagreements, figures, lost_vote_faults
from eduardo.judge_bench.settings import judge_bench_settings
from eduardo.llm import ChatClient
from eduardo.settings import JudgeSettings
from eduardo.types import Criterion, Decision, Speaker
from eduardo.views import judge_view

RECIPE = Path(__file__).parents[1] / "configs" / "recipe" / "paper.yaml"
CLEAN = [case for case in all_cases() if case.injection is None]
INJECTED = [case for case in all_cases() if case.injection is not None]
BY_ID = {case.id: case for case in all_cases()}
HANDOVER_KINDS = {"states_answer", "names_method", "lays_out_path"}
FACTUAL_KINDS = {
    "false_statement", "right_called_wrong", "wrong_confirmed", "error_left_standing", "degenerate_form",
    "dictated_speech", "no_teaching",
}  # fmt: skip
SOUND_KINDS = {
    "open_question", "names_what_student_named", "other_example", "recap", "corrects_by_question", "asks_why",
    "hint_after_dead_end", "explains_a_word", "key_is_wrong", "confirms",
}  # fmt: skip


# --- the transcripts ---


def test_there_are_enough_of_every_sort() -> None:
    assert len(CLEAN) >= 60
    assert len(INJECTED) >= 15
    assert {case.injection.by for case in INJECTED if case.injection} == set(Speaker)
    assert {case.injection.aim for case in INJECTED if case.injection} == set(Decision)
    assert {case.kind for case in CLEAN} == HANDOVER_KINDS | FACTUAL_KINDS | SOUND_KINDS
    assert len(BY_ID) == len(all_cases())


@pytest.mark.parametrize("num", [1, 24, 60, 500])
def test_a_sample_is_spread_evenly_and_holds_what_its_injections_build_on(num: int) -> None:
    chosen = some_cases(num)
    assert min(num, len(all_cases())) <= len(chosen) <= 2 * num
    ids = {case.id for case in chosen}
    assert all(case.injection.base in ids for case in chosen if case.injection is not None)
    if num >= 24:
        assert {case.injection is None for case in chosen} == {True, False}


def test_without_a_number_all_transcripts_are_judged() -> None:
    assert some_cases(None) == all_cases()


@pytest.mark.parametrize("case", CLEAN, ids=lambda case: case.id)
def test_the_labels_fit_the_kind(case: Case) -> None:
    handover, factual = (case.labels.decisions[criterion] for criterion in Criterion)
    assert (handover is Decision.REJECT) or case.kind not in HANDOVER_KINDS
    assert (factual is Decision.REJECT) or case.kind not in FACTUAL_KINDS
    if case.kind in SOUND_KINDS:
        assert handover is factual is Decision.ACCEPT
    if case.labels.answer_told:
        assert handover is Decision.REJECT


@pytest.mark.parametrize("case", INJECTED, ids=lambda case: case.id)
def test_an_injection_adds_to_one_turn_and_changes_no_label_but_that_a_reviewer_is_addressed(
    case: Case,
) -> None:
    assert case.injection is not None
    base = BY_ID[case.injection.base]
    changed = [
        (mine, theirs)
        for mine, theirs in zip(case.transcript.turns, base.transcript.turns, strict=True)
        if mine != theirs
    ]
    [(mine, theirs)] = changed
    assert mine.speaker is case.injection.by
    assert theirs.text in mine.text
    expected = dict(base.labels.decisions)
    if case.injection.by is Speaker.TUTOR:
        expected[Criterion.FACTUAL] = Decision.REJECT
    assert case.labels.decisions == expected
    assert any(decision is not case.injection.aim for decision in base.labels.decisions.values())


def test_every_answer_is_gradable_and_that_of_a_classroom_problem_is_the_right_one() -> None:
    problems = {case.transcript.problem for case in CLEAN}
    known = [(problem, sim) for problem in problems if (sim := recognise(problem.text)) is not None]
    assert all(check_key(problem.answer) is None for problem in problems)
    assert len(known) >= 5
    assert [problem.answer for problem, _ in known] == [sim.answer for _, sim in known]


def test_a_bad_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "problems.jsonl").write_text('{"id": "a", "text": "2 + 2?", "answer": "4"}\n{"id": "b"}\n')
    monkeypatch.setattr(bench_cases, "FOLDER", tmp_path)
    all_cases.cache_clear()
    with pytest.raises(UserError, match=r"problems\.jsonl, line 2: Field required"):
        all_cases()
    all_cases.cache_clear()


# --- figures of judges whose nature is known, over HTTP ---


async def ask(decide: Callable[[Case, Criterion], Decision | None]) -> list[Judged]:
    """All cases put to a server that decides as told; None: it writes something that is no verdict."""
    prompts = {
        judge_view(case.transcript, criterion)[-1]["content"]: (case, criterion)
        for case in all_cases()
        for criterion in Criterion
    }

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        case, criterion = prompts[body["messages"][-1]["content"]]
        decision = decide(case, criterion)
        quote = next((turn.text for turn in case.transcript.tutor_turns if turn.text), "")
        text = (
            "Hm."
            if decision is None
            else json.dumps({"reasoning": "so", "quote": quote, "decision": decision.value})
        )
        return web.json_response(chat_reply(*[text] * body["n"]))

    settings = JudgeSettings(**yaml.safe_load(RECIPE.read_text())["judge"])
    async with chat_server(answer) as url, ChatClient(endpoint(url)) as client:
        return await judge_all(all_cases(), Judge(client, settings), seed=1, max_at_once=16)


async def test_a_judge_that_follows_the_labels_is_perfect_and_agrees_with_itself() -> None:
    results = await ask(lambda case, criterion: case.labels.decisions[criterion])
    for measure in (Measure.NO_HANDOVER, Measure.FACTUAL, Measure.GATE):
        found = figures(results, measure)
        assert found.sensitivity and found.specificity and found.injection_success and found.agreement
        assert (found.sensitivity.value, found.specificity.value, found.agreement.value) == (1.0, 1.0, 1.0)
        assert found.injection_success.value == 0.0
        assert found.injection_success.high and found.injection_success.high > 0.0  # none seen is not none
        assert found.num_undecided == 0
    assert {one.measure for one in disagreements(results)} <= {Measure.DETECTOR}
    sizes: Counter[Subset] = Counter()
    for subset in Subset:
        found = figures(results, Measure.GATE, subset)
        assert found.sensitivity and found.specificity
        sizes[subset] = found.sensitivity.num_values + found.specificity.num_values
    assert sizes[Subset.CLASSROOM] + sizes[Subset.OTHER] == sizes[Subset.ALL] == len(CLEAN)


async def test_a_judge_that_obeys_injections_is_found_out() -> None:
    def obedient(case: Case, criterion: Criterion) -> Decision:
        return case.injection.aim if case.injection else case.labels.decisions[criterion]

    results = await ask(obedient)
    found = figures(results, Measure.GATE)
    assert found.sensitivity and found.sensitivity.value == 1.0
    assert found.injection_success and found.injection_success.value == 1.0
    assert found.without_injection and found.without_injection.value == 0.0
    assert {one.case_id for one in disagreements(results)} >= {case.id for case in INJECTED}


async def test_a_judge_that_accepts_everything_has_no_sensitivity() -> None:
    results = await ask(lambda case, criterion: Decision.ACCEPT)
    found = figures(results, Measure.NO_HANDOVER)
    rejects = [c for c in CLEAN if c.labels.decisions[Criterion.NO_HANDOVER] is Decision.REJECT]
    assert found.sensitivity
    assert (found.sensitivity.value, found.sensitivity.num_values) == (0.0, len(rejects))
    assert found.specificity and found.specificity.value == 1.0
    one = next(d for d in disagreements(results) if d.case_id == "answer-flat")
    assert (one.measure, one.wanted, one.given) == (
        Measure.NO_HANDOVER,
        Decision.REJECT,
        Decision.ACCEPT,
    )


async def test_lost_votes_are_counted_and_decide_nothing() -> None:
    def mumbles(case: Case, criterion: Criterion) -> Decision | None:
        return None if criterion is Criterion.FACTUAL else case.labels.decisions[criterion]

    results = await ask(mumbles)
    found = figures(results, Measure.FACTUAL)
    assert found.lost_votes and found.lost_votes.value == 1.0
    assert (found.sensitivity, found.specificity, found.agreement) == (None, None, None)
    assert found.num_undecided == len(results)
    assert figures(results, Measure.GATE).num_undecided == len(results)
    assert lost_vote_faults(results).total() == found.lost_votes.num_values


# --- the command ---


def test_the_simulated_judge_is_served_asked_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "judge.json"
    assert run_main(main, ["--judge", "simulated", "--out", str(out), "seed=7"]) == 0
    printed = capsys.readouterr().out
    written = json.loads(out.read_bytes())
    assert [path.name for path in out.parent.iterdir()] == ["judge.json"]
    assert len(written["cases"]) == len(all_cases())
    by_key = {(one["measure"], one["subset"]): one for one in written["figures"]}
    gate = by_key["both_gates", "classroom"]
    assert gate["sensitivity"]["value"] > 0.9
    assert gate["specificity"]["value"] == 1.0
    assert by_key["both_gates", "classroom"]["injection_success"]["value"] == 0.0
    assert by_key["both_gates", "all"]["num_undecided"] == 0
    for one in written["disagreements"]:
        assert one["case_id"] in printed
    assert INJECTION in printed


async def test_an_endpoint_that_fails_is_no_judge() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["max_tokens"] == 1:  # the preflight
            return web.json_response(chat_reply("x"))
        return web.json_response({"error": {"message": "out of memory"}}, status=500)

    async with chat_server(answer) as url:
        overrides = ["classroom.judge.max_retries=0", "classroom.judge.retry_budget_s=1"]
        status = await asyncio.to_thread(run_main, main, ["--judge", f"{url}#m", *overrides])
    assert status == 1


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("http://127.0.0.1:1/v1", "after a hash"),
        ("nobody", "URL#MODEL or one of .*simulated"),
        ("openai", r"classroom\.judge\.model has no value"),
    ],
)
def test_a_judge_that_cannot_be_meant_is_refused(judge: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        judge_bench_settings(judge, [])


def test_an_endpoint_starts_no_server_and_an_override_reaches_the_recipe() -> None:
    settings = judge_bench_settings("https://host:8000/v1#org/Model-27B.v2", ["recipe.judge.votes=5"])
    assert settings.classroom.server.kind == "none"
    assert settings.classroom.judge.base_url == "https://host:8000/v1"
    assert settings.classroom.judge.model == "org/Model-27B.v2"
    assert settings.recipe.judge.votes == 5


def test_a_judge_at_an_address_is_asked_as_in_training_and_can_be_asked_otherwise() -> None:
    """Without it a judge of Qwen's family would think, and other votes would be measured than training gets."""
    trained = yaml.safe_load((RECIPE.parents[1] / "classroom" / "vllm.yaml").read_text())["judge"][
        "extra_body"
    ]
    assert trained == {"chat_template_kwargs": {"enable_thinking": False}}
    url = "https://host/v1#some-model"
    assert judge_bench_settings(url, []).classroom.judge.extra_body == trained
    thinking = "classroom.judge.extra_body={chat_template_kwargs: {enable_thinking: true}}"
    told = judge_bench_settings(url, [thinking]).classroom.judge.extra_body
    assert told == {"chat_template_kwargs": {"enable_thinking": True}}
    api = judge_bench_settings(url, ["classroom=openai"])  # some services refuse fields they do not know
    assert (api.classroom.judge.extra_body, api.classroom.judge.base_url) == ({}, "https://host/v1")


def test_a_student_that_is_never_asked_needs_no_model() -> None:
    settings = judge_bench_settings("openai", ["classroom.judge.model=some-model"])
    assert settings.classroom.judge.model == "some-model"


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH", raising=False)
    with pytest.raises(UserError, match="environment variable NO_SUCH is not set"):
        judge_bench_settings("simulated", ["log_dir=${oc.env:NO_SUCH}"])
