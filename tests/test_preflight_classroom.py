"""Student and judge before a run: what answers well passes, what would cost dialogues is named with what to do."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from aiohttp import web
from llm_servers import chat_reply, chat_server, free_port
from omegaconf import OmegaConf
from preflight_subject import changed, gpu_subject, write_problems

from eduardo.errors import EndpointRejected, EndpointUnavailable
from eduardo.planning import estimate_workload
from eduardo.preflight import Status, check_classroom, clocks, failure_of, require_endpoints
from eduardo.preflight.probes import Rate, Speed
from eduardo.preflight.step_time import classroom_seconds

pytest.importorskip("verl")  # its configuration files are composed, though it is never imported

VERDICT = '{"reasoning": "no answer was told", "quote": "", "decision": "accept"}'
NUM_AT_ONCE = 4


@pytest.fixture
def check(tmp_path):
    """`await check(url)` checks a run whose student and judge are both at `url`; settings can be replaced."""
    write_problems(tmp_path / "train.parquet", 1)

    async def run(url, *, recipe=None, **preflight):
        subject = gpu_subject(tmp_path)
        settings, config = subject.settings, subject.config.copy()
        OmegaConf.update(config, "data.train_files", [str(tmp_path / "train.parquet")])
        endpoints = {
            role: changed(
                getattr(settings.classroom, role), base_url=url, connect_timeout_s=2.0, retry_budget_s=2.0
            )
            for role in ("student", "judge")
        }
        settings = changed(
            settings,
            classroom=changed(settings.classroom, **endpoints),
            preflight=changed(settings.preflight, probe_requests=NUM_AT_ONCE, **preflight),
            recipe=recipe(settings.recipe) if recipe else settings.recipe,
        )
        found = await asyncio.to_thread(check_classroom, config, settings, wait_s=0.0)
        return {finding.check: finding for finding in found}, settings

    return run


def is_vote(body):
    """A judge is shown the transcript; the check of an endpoint says hello."""
    return "transcript" in body["messages"][-1]["content"].casefold() and body["max_tokens"] > 1


async def good(request):
    body = await request.json()
    if is_vote(body):
        return web.json_response(chat_reply(VERDICT))
    return web.json_response(chat_reply(*["It is 4. \\boxed{4}"] * body["n"] if "n" in body else ["Hi"]))


async def test_a_good_classroom_passes_with_its_speed_and_a_step_time(check):
    async with chat_server(good) as url:
        found, _ = await check(url)
    assert {finding.status for finding in found.values()} == {Status.PASS}
    assert found["judge's vote"].text.endswith("by JSON schema")
    assert found["student's test"].text.startswith("16 attempts")
    assert f"{NUM_AT_ONCE} calls at once" in found["load"].text
    assert "s per step of 128 dialogues for student and judge" in found["step time"].text
    assert "not measured" in found["step time"].text  # the policy's part


async def test_nothing_more_is_asked_of_endpoints_that_do_not_answer(check):
    found, _ = await check(f"http://127.0.0.1:{free_port()}/v1")
    assert set(found) == {"student", "judge"}
    assert found["student"].status is Status.FAIL
    assert "nothing listens" in found["student"].text
    assert "classroom.student.base_url" in found["student"].todo
    assert isinstance(failure_of(found.values()), EndpointUnavailable)


async def test_a_context_that_is_too_short_fails(check):
    async def short(_):
        models = [{"id": "simulated-student", "max_model_len": 100}, {"id": "simulated-judge"}]
        return web.json_response({"data": models})

    async with chat_server(good, models=short) as url:
        found, _ = await check(url)
    assert "context of 100 tokens" in found["student"].text
    assert "--max-model-len" in found["student"].todo
    assert found["judge"].status is Status.PASS


async def test_a_judge_without_structured_output_is_a_warning_or_a_failure_as_the_recipe_says(check):
    async def no_schema(request):
        body = await request.json()
        if "response_format" in body:
            return web.json_response({"error": {"message": "response_format unknown"}}, status=400)
        return await good(request)

    def insist(recipe):
        return changed(recipe, judge=changed(recipe.judge, structured_output="json_schema"))

    async with chat_server(no_schema) as url:
        lenient, _ = await check(url)
        strict, _ = await check(url, recipe=insist)
    assert lenient["judge's vote"].status is Status.WARN
    assert "without a schema" in lenient["judge's vote"].text
    assert isinstance(failure_of(strict.values()), EndpointRejected)


async def test_a_vote_that_cannot_be_read_is_a_warning_with_the_reason(check):
    async def chatty(request):
        body = await request.json()
        return web.json_response(chat_reply("Well done!")) if is_vote(body) else await good(request)

    async with chat_server(chatty) as url:
        found, _ = await check(url)
    assert found["judge's vote"].status is Status.WARN
    assert "holds no verdict object" in found["judge's vote"].text


async def test_a_server_that_ignores_n_would_void_every_dialogue(check):
    async def one_only(request):
        body = await request.json()
        return await good(request) if is_vote(body) else web.json_response(chat_reply("\\boxed{4}"))

    async with chat_server(one_only) as url:
        found, _ = await check(url)
    assert found["student's test"].status is Status.WARN
    assert "1 attempts" in found["student's test"].text
    assert "12 needed" in found["student's test"].text


async def test_servers_that_are_slow_are_a_warning_that_says_what_a_step_would_take(check):
    async def slow(request):
        if (await request.json())["max_tokens"] > 1:
            await asyncio.sleep(2)
        return await good(request)

    async with chat_server(slow) as url:
        found, settings = await check(url, endpoint_timeout_s=0.5)
    speed = found["speed of the servers"]
    assert speed.status is Status.WARN and failure_of(found.values()) is None
    assert "not done after 0.5 s, though the servers answer" in speed.text
    work = estimate_workload(settings.recipe, settings.planning.expected, num_dialogues=128)
    num_calls = work.num_student_replies + work.num_post_tests + work.num_judge_requests
    seconds = num_calls * 0.5 / (3 + 2 * NUM_AT_ONCE)
    assert f"128 dialogues makes about {num_calls:.0f} calls" in speed.text
    assert f"more than about {seconds:.0f} s" in speed.text
    assert "preflight.endpoint_timeout_s" in speed.todo


async def test_a_server_that_stops_answering_during_the_timed_calls_is_a_failure(check):
    is_hanging = False

    async def hang(request):
        nonlocal is_hanging
        is_hanging |= (await request.json())["max_tokens"] > 1
        if is_hanging:
            await asyncio.sleep(3)
        return await good(request)

    async with chat_server(hang) as url:
        found, _ = await check(url, endpoint_timeout_s=0.5)
    assert found["student"].status is Status.PASS
    assert found["speed of the servers"].status is Status.FAIL
    assert "not one token in 0.5 s" in found["speed of the servers"].text
    assert isinstance(failure_of(found.values()), EndpointUnavailable)


async def test_a_server_of_another_time_is_a_warning(check, monkeypatch):
    monkeypatch.setattr(clocks, "time", SimpleNamespace(time=lambda: time.time() + 60))
    async with chat_server(good) as url:
        found, _ = await check(url)
    assert found["clocks of the servers"].status is Status.WARN
    assert "behind this machine" in found["clocks of the servers"].text


async def test_without_the_preflight_one_token_from_each_is_still_required(check):
    async with chat_server(good) as url:
        _, settings = await check(url)
        await asyncio.to_thread(require_endpoints, settings, wait_s=0.0)
    with pytest.raises(EndpointUnavailable, match="nothing listens"):
        await asyncio.to_thread(require_endpoints, settings, wait_s=0.0)


def test_concurrency_follows_from_one_call_alone_and_several_at_once():
    # 16 calls of 2 s each that are done after 4 s: 8 of them ran side by side.
    rate = Rate(alone_s=2.0, num_at_once=16, together_s=4.0)
    assert rate.concurrency == 8
    assert rate.seconds_per_call == 0.25
    assert Rate(alone_s=2.0, num_at_once=16, together_s=2.0).concurrency == 16
    assert Rate(alone_s=2.0, num_at_once=16, together_s=64.0).concurrency == 1


def test_a_step_takes_what_the_busier_server_takes_or_one_dialogue(tmp_path):
    settings = gpu_subject(tmp_path).settings
    work = estimate_workload(settings.recipe, settings.planning.expected, num_dialogues=128)
    busy = Speed(
        reply=Rate(1.0, 16, 16.0),  # 1 s a call
        vote=Rate(1.0, 16, 1.6),  # 0.1 s a call
        test=Rate(4.0, 16, 32.0),  # 2 s a call
    )
    expected_s = work.num_student_replies * 1.0 + work.num_post_tests * 2.0
    assert classroom_seconds(work, busy) == pytest.approx(expected_s)
    idle = Speed(reply=Rate(10.0, 1000, 10.0), vote=Rate(20.0, 1000, 20.0), test=Rate(30.0, 1000, 30.0))
    replies_each = work.num_student_replies / 128
    assert classroom_seconds(work, idle) == pytest.approx(replies_each * 10 + 20 + 30)
