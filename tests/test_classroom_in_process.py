"""The classroom without HTTP gives the replies of the classroom behind HTTP."""

from __future__ import annotations

import inspect
import random
from pathlib import Path

import pytest
import yaml
from aiohttp.test_utils import TestServer

from eduardo import views
from eduardo.classroom.faults import FaultPlan
from eduardo.classroom.in_process import JUDGE_MODEL, STUDENT_MODEL, InProcessClient, brains
from eduardo.classroom.problems import generate_pair, templates
from eduardo.classroom.server import ClassroomServer, ServerSettings
from eduardo.llm import ChatClient, Completer
from eduardo.settings import EndpointSettings
from eduardo.types import Criterion, Problem, Speaker, Transcript, Turn

ENDPOINT = yaml.safe_load((Path(__file__).parents[1] / "configs" / "endpoint" / "default.yaml").read_text())


def transcript() -> Transcript:
    sim = generate_pair(random.Random(1), templates()[0]).source
    problem = Problem(text=sim.text, answer=sim.answer)
    turn = Turn(speaker=Speaker.TUTOR, text="please try it yourself first.")
    return Transcript(problem=problem, turns=(views.opener(problem), turn))


async def test_the_same_request_gets_the_same_replies_in_this_process_and_over_http() -> None:
    settings = ServerSettings(max_model_len=4096, api_key=None, admin=False)
    server = TestServer(ClassroomServer(brains(), settings, FaultPlan()).app())
    await server.start_server()
    dialogue = transcript()
    chats = {
        STUDENT_MODEL: [views.student_view(dialogue), views.cold_solve_view(dialogue.problem)],
        JUDGE_MODEL: [views.judge_view(dialogue, criterion) for criterion in Criterion],
    }
    for model, views_of_it in chats.items():
        endpoint = {**ENDPOINT, "base_url": str(server.make_url("/v1")), "model": model}
        async with ChatClient(EndpointSettings.model_validate(endpoint)) as client:
            for chat in views_of_it:
                for max_tokens in (200, 3):
                    over_http = await client.complete(
                        chat, n=5, temperature=0.6, max_tokens=max_tokens, seed=7
                    )
                    here = await InProcessClient(model, brains()[model]).complete(
                        chat, n=5, temperature=0.6, max_tokens=max_tokens, seed=7
                    )
                    assert [(c.text, c.finish) for c in here] == [(c.text, c.finish) for c in over_http]
    await server.close()


@pytest.mark.parametrize("kind", [ChatClient, InProcessClient])
def test_student_and_judge_can_ask_either(kind: type[Completer]) -> None:
    assert inspect.signature(kind.complete) == inspect.signature(Completer.complete)
