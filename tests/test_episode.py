"""One training dialogue against the real classroom server, with a scripted policy in place of verl's rollout.

Ids, mask and log-probabilities stay aligned whatever happens; the record is on disk before the reward is used; what
could not be measured is void, with an all-zero mask and no number for a reward.
"""

import itertools
import math
import random
from dataclasses import replace

import pytest
import yaml
from aiohttp import web
from llm_servers import chat_reply, chat_server, endpoint
from template_families import TEMPLATES, build_tokenizer

from eduardo.chat_template import ChatTemplate
from eduardo.classroom import problems, process
from eduardo.errors import EndpointUnavailable
from eduardo.judge import Rubric
from eduardo.llm import close_shared_clients
from eduardo.records import read_dialogues
from eduardo.resources import configs_dir
from eduardo.settings import EndpointSettings, GraderSettings, RecipeSettings, RubricSettings
from eduardo.tutor import Generation
from eduardo.types import FinishReason, ItemKind, Problem, SolveRate, TestItem, TransferPair
from eduardo.verl_adapter.episode import Classroom, EpisodeSettings, Sample
from eduardo.views import tutor_prompt


def config(name):
    return yaml.safe_load((configs_dir() / f"{name}.yaml").read_text())


RECIPE = config("recipe/embedded")
RECIPE["dialogue"] |= {"prompt_tokens": 4096, "response_tokens": 3000, "tutor_turn_tokens": 300}
END_TAG = RECIPE["dialogue"]["end_tag"]
GUIDE = [
    "reason</think>What is asked for here?",
    "reason</think>What would you do first?",
    "reason</think>Why does that help?",
    f"reason</think>Try it yourself now. {END_TAG}",
]


@pytest.fixture(scope="module")
def server_url():
    with process.start() as server:
        yield server.base_url


@pytest.fixture(scope="module")
def template():
    return ChatTemplate(build_tokenizer(TEMPLATES["prefilled"]))


@pytest.fixture
async def classroom(tmp_path, server_url, template):
    def make(*, student_url=server_url, judge_url=server_url, recipe=RECIPE, personas=None, rubric=None):
        fast = {"max_retries": 0, "retry_budget_s": 1.0, "connect_timeout_s": 1.0}

        def simulated(role, url):
            values = config("endpoint/default") | fast | {"base_url": url, "model": f"simulated-{role}"}
            return EndpointSettings(**values)

        settings = EpisodeSettings(
            recipe=RecipeSettings(**recipe),
            grader=GraderSettings(**config("grader/default")),
            student=simulated("student", student_url),
            judge=simulated("judge", judge_url),
            seed=42,
            run_dir=tmp_path,
            personas=personas,
            rubric=rubric,
        )
        return Classroom(settings, template)

    yield make
    await close_shared_clients()


@pytest.fixture(scope="module")
def pair():
    drawn = problems.generate_pair(random.Random(3), problems.templates("train")[0])

    def item(problem, kind):
        baseline = SolveRate(value=0.25, num_graded=16)
        return TestItem(
            problem=Problem(text=problem.text, answer=problem.answer), baseline=baseline, kind=kind
        )

    source, variant = item(drawn.source, ItemKind.SOURCE), item(drawn.variant, ItemKind.TRANSFER)
    return TransferPair(id="p1", source=source, variant=variant, notes=problems.notes(drawn.source))


def sample(pair, *, index=0, step=1):
    prompt = tutor_prompt(pair, "compact", end_tag=END_TAG)
    return Sample(task=pair, prompt=prompt, split="train", step=step, index=index)


def policy(template, turns):
    """Samples the given texts in turn, each with its end-of-turn token, and cuts them at the limit."""
    texts = itertools.cycle(turns)

    async def generate(prompt_ids, max_tokens):
        text = next(texts)
        if isinstance(text, Exception):
            raise text
        ids = [*template._tokenizer.encode(text, add_special_tokens=False), template.stop_ids[0]]
        finish = FinishReason.STOP if len(ids) <= max_tokens else FinishReason.LENGTH
        ids = ids[:max_tokens]
        return Generation(ids=ids, logprobs=[-0.25] * len(ids), finish=finish)

    return generate


def check_alignment(experience):
    lengths = {len(experience.response_ids), len(experience.response_mask), len(experience.rollout_logprobs)}
    assert len(lengths) == 1
    sampled = [p for p, m in zip(experience.rollout_logprobs, experience.response_mask, strict=True) if m]
    assert set(sampled) <= {-0.25}


async def test_a_dialogue_is_rewarded_and_recorded(classroom, template, pair, tmp_path):
    experience = await classroom().run(sample(pair), policy(template, GUIDE))
    check_alignment(experience)
    num_sampled = sum(len(template._tokenizer.encode(t, add_special_tokens=False)) + 1 for t in GUIDE)
    assert sum(experience.response_mask) == num_sampled
    [record] = [d for path in (tmp_path / "dialogues").rglob("*.jsonl") for d in read_dialogues(path)]
    assert record.pair_id == pair.id
    assert record.reward.total == pytest.approx(experience.reward, abs=1e-12)
    assert experience.numbers["reward_total"] == experience.reward
    assert experience.numbers["void"] == 0.0


async def test_k03_requests_retries_and_waiting_are_numbers_of_the_step(classroom, template, pair):
    room = classroom()
    first = await room.run(sample(pair), policy(template, GUIDE))
    second = await room.run(sample(pair, index=1), policy(template, GUIDE))
    for experience in (first, second):
        assert (
            experience.numbers["student_num_tries"] == experience.num_turns // 2 - 1 + 1
        )  # and the post-test
        assert experience.numbers["judge_num_tries"] >= 2
        assert experience.numbers["student_num_retries"] == experience.numbers["judge_num_retries"] == 0
        assert experience.numbers["student_queue_s"] >= 0.0


async def test_the_same_sample_is_the_same_dialogue_and_another_index_is_not(
    classroom, template, pair, tmp_path
):
    room = classroom()
    for index in (0, 0, 1):
        await room.run(sample(pair, index=index), policy(template, GUIDE))
    records = [d for path in (tmp_path / "dialogues").rglob("*.jsonl") for d in read_dialogues(path)]
    assert records[0] == records[1]
    assert records[0].labels["seed"] != records[2].labels["seed"]


@pytest.mark.parametrize("role", ["student", "judge"])
async def test_a_dead_endpoint_makes_the_dialogue_void_never_a_number(classroom, template, pair, role):
    dead = "http://127.0.0.1:9/v1"
    experience = await classroom(**{f"{role}_url": dead}).run(sample(pair), policy(template, GUIDE))
    check_alignment(experience)
    assert not any(experience.response_mask)
    assert math.isnan(experience.reward)
    assert experience.numbers["void"] == 1.0
    assert experience.numbers["reward_total"] is None


@pytest.mark.parametrize("turns", [[EndpointUnavailable("gone")], [GUIDE[0], EndpointUnavailable("gone")]])
async def test_a_rollout_server_that_fails_makes_the_dialogue_void(classroom, template, pair, turns):
    experience = await classroom().run(sample(pair), policy(template, turns))
    check_alignment(experience)
    assert len(experience.response_ids) > 0
    assert not any(experience.response_mask)
    assert math.isnan(experience.reward)


async def test_every_dialogue_has_the_same_numeric_keys(classroom, template, pair):
    room = classroom()
    good = await room.run(sample(pair), policy(template, GUIDE))
    blank = await room.run(sample(pair, index=1), policy(template, ["</think>"]))
    void = await room.run(sample(pair, index=2), policy(template, [EndpointUnavailable("gone")]))
    assert good.numbers.keys() == blank.numbers.keys() == void.numbers.keys()


async def test_a_dialogue_never_exceeds_its_token_budget(classroom, template, pair):
    recipe = {**RECIPE, "dialogue": RECIPE["dialogue"] | {"response_tokens": 200, "tutor_turn_tokens": 150}}
    experience = await classroom(recipe=recipe).run(sample(pair), policy(template, GUIDE))
    check_alignment(experience)
    assert len(experience.response_ids) <= 200
    assert experience.numbers["ended_token_budget"] == 1.0


async def test_all_dialogues_of_a_group_meet_the_same_persona_and_say_so(classroom, template, pair, tmp_path):
    room = classroom(personas={"terse": 1.0, "eager": 1.0, "plain": 1.0})
    for step in range(4):
        for index in range(2):
            await room.run(sample(pair, index=index, step=step), policy(template, GUIDE))
    records = [d for path in (tmp_path / "dialogues").rglob("*.jsonl") for d in read_dialogues(path)]
    by_step = {}
    for record in records:
        by_step.setdefault(record.labels["step"], set()).add(record.labels["persona"])
    assert all(len(personas) == 1 for personas in by_step.values())
    assert len(set.union(*by_step.values())) > 1  # and another group may meet another one


async def test_without_a_mixture_no_persona_is_recorded(classroom, template, pair, tmp_path):
    await classroom().run(sample(pair), policy(template, GUIDE))
    [record] = [d for path in (tmp_path / "dialogues").rglob("*.jsonl") for d in read_dialogues(path)]
    assert "persona" not in record.labels


async def test_a_rubric_judge_rates_validation_dialogues_and_no_others(classroom, template, pair, tmp_path):
    asked = []

    async def score(request):
        asked.append(await request.json())
        number = 4 if "Rubric: pedagogy" in asked[-1]["messages"][-1]["content"] else "five"
        return web.json_response(chat_reply(f'{{"reasoning": "fine", "score": "{number}"}}'))

    async with chat_server(score) as url:
        rubric = config("rubric/none") | {"judge": endpoint(url).model_dump()}
        room = classroom(rubric=RubricSettings(**rubric))
        trained = await room.run(sample(pair), policy(template, GUIDE))
        validated = await room.run(replace(sample(pair), split="val"), policy(template, GUIDE))
    assert len(asked) == 2
    assert [trained.numbers[f"rubric_{name}"] for name in Rubric] == [None, None]
    assert [validated.numbers[f"rubric_{name}"] for name in Rubric] == [4.0, None]  # "five" is no number
    assert validated.numbers.keys() == trained.numbers.keys()
    assert (
        validated.reward
        == (await classroom().run(replace(sample(pair), split="val"), policy(template, GUIDE))).reward
    )


async def test_a_rubric_judge_that_is_out_of_reach_costs_no_dialogue(classroom, template, pair):
    dead = endpoint("http://127.0.0.1:9/v1", max_retries=0, retry_budget_s=0.2, connect_timeout_s=0.2)
    rubric = RubricSettings(**config("rubric/none") | {"judge": dead.model_dump()})
    experience = await classroom(rubric=rubric).run(
        replace(sample(pair), split="val"), policy(template, GUIDE)
    )
    assert experience.numbers["void"] == 0.0
    assert [experience.numbers[f"rubric_{name}"] for name in Rubric] == [None, None]


async def test_a_rubric_judge_that_refuses_for_good_costs_no_dialogue_either(classroom, template, pair):
    """Such as a dialogue that is longer than its context."""

    async def refuse(_):
        return web.json_response({"error": {"message": "maximum context length is 100 tokens"}}, status=400)

    async with chat_server(refuse) as url:
        rubric = RubricSettings(**config("rubric/none") | {"judge": endpoint(url).model_dump()})
        experience = await classroom(rubric=rubric).run(
            replace(sample(pair), split="val"), policy(template, GUIDE)
        )
    assert experience.numbers["void"] == 0.0
    assert [experience.numbers[f"rubric_{name}"] for name in Rubric] == [None, None]
