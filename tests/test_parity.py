"""Training and evaluation are one system: same words, same transcript; same transcript, same numbers.

Training's own path (`Classroom.run`, over token ids) and evaluation's (`ChatTutor` over a real chat endpoint;
`evaluation.environment` and its figures) are asked about the same scripted tutor turns, with the simulated classroom.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from llm_servers import chat_reply, chat_server, endpoint
from sample_runs import GRADER, RECIPE, sample_pairs
from template_families import TEMPLATES, build_tokenizer

from eduardo import views
from eduardo.answers import Grader
from eduardo.chat_template import ChatTemplate
from eduardo.classroom import process
from eduardo.classroom.in_process import in_process_student
from eduardo.dialogue import run_dialogue
from eduardo.evaluation.environment.scoring import score
from eduardo.evaluation.environment.tasks import Task
from eduardo.evaluation.resumable import AWAITS_SCORING
from eduardo.evaluation.rows import to_rows
from eduardo.evaluation.settings import evaluation_settings
from eduardo.judge import Judge
from eduardo.ledger import TokenLedger
from eduardo.llm import ChatClient, close_shared_clients, shared_client
from eduardo.protocol import ThinkingMode
from eduardo.records import DialogueWriter, read_dialogues
from eduardo.resources import configs_dir
from eduardo.settings import EndpointSettings
from eduardo.student import Student
from eduardo.tutor import ChatTutor, Generation, TokenTutor
from eduardo.types import EndReason, FinishReason, ScoredDialogue, TransferPair, TurnFault
from eduardo.verl_adapter.episode import Classroom, EpisodeSettings, Sample

LIMITS = RECIPE.dialogue.model_copy(
    update={"prompt_tokens": 4096, "response_tokens": 9000, "tutor_turn_tokens": 400}
)
WIDE = RECIPE.model_copy(update={"dialogue": LIMITS})
END = LIMITS.end_tag
STOP, LENGTH, OTHER = FinishReason


@dataclasses.dataclass(frozen=True)
class Said:
    """A scripted tutor turn. `reply` None: the limit fell inside the thinking."""

    thinking: str
    reply: str | None
    finish: FinishReason = STOP

    @property
    def raw(self) -> str:
        """As a policy samples it after a prompt that opened the thinking."""
        return self.thinking if self.reply is None else f"{self.thinking}</think>{self.reply}"

    @property
    def message(self) -> dict[str, object]:
        """As a server answers that splits the thinking off."""
        return chat_reply(self.reply, finish=self.finish.value, reasoning=self.thinking or None)


def asks(number: int) -> list[Said]:
    return [Said("think", f"What do you do next, number {i}?") for i in range(number)]


SCRIPTS = {
    "ends by itself": [*asks(3), Said("done", f"Well done. {END}")],
    "reaches the turn limit": asks(11),
    "end tag too early": [Said("", f"Goodbye. {END}"), *asks(10)],
    "end tag in the thinking only": [*asks(3), Said(f"should I say {END}?", "Go on."), *asks(7)],
    "cut inside the thinking": [*asks(1), Said("half a plan", None, LENGTH), *asks(9)],
    "cut inside the reply": [*asks(1), Said("plan", "What is the wid", LENGTH), *asks(9)],
    "nothing visible": [*asks(1), Said("only thought", ""), *asks(9)],
    "tells the answer": [Said("", "The answer is 42."), *asks(2), Said("", f"Bye. {END}")],
}


@pytest.fixture(scope="module")
def template() -> ChatTemplate:
    return ChatTemplate(build_tokenizer(TEMPLATES["prefilled"]))


@pytest.fixture(scope="module")
def pair() -> TransferPair:
    return sample_pairs(1)[0]


@pytest.fixture(scope="module")
def server_url():
    with process.start() as server:
        yield server.base_url


@pytest.fixture(autouse=True)
async def _no_client_stays_open():
    yield
    await close_shared_clients()


def sampled(template: ChatTemplate, script: list[Said]):
    """Training's side: token ids of one turn after the other."""
    turns = iter(script)

    async def generate(prompt_ids: list[int], max_tokens: int) -> Generation:
        said = next(turns)
        ids = template._tokenizer.encode(said.raw, add_special_tokens=False)
        ids = [*ids, template.stop_ids[0]] if said.finish is STOP else ids
        assert len(ids) <= max_tokens, "the script must fit, so that only it decides what is cut"
        return Generation(ids=ids, logprobs=[-0.1] * len(ids), finish=said.finish)

    return generate


async def over_tokens(script, pair, template):
    ledger = TokenLedger(template, prompt(pair), max_response_tokens=LIMITS.response_tokens)
    tutor = TokenTutor(template, ledger, sampled(template, script), turn_tokens=LIMITS.tutor_turn_tokens)
    return await dialogue(pair, tutor)


async def over_chat(script, pair, template, *, mode=ThinkingMode.OPTIONAL):
    """Optional: the server splits the thinking off. Prefilled: it sends what was sampled as it is."""
    turns = iter(script)

    async def answer(request: web.Request) -> web.StreamResponse:
        said = next(turns)
        whole = chat_reply(said.raw, finish=said.finish.value)
        return web.json_response(said.message if mode is ThinkingMode.OPTIONAL else whole)

    async with chat_server(answer) as url, ChatClient(endpoint(url)) as client:
        tutor = ChatTutor(
            client,
            prompt(pair),
            thinking_mode=mode,
            count_tokens=template.count_tokens,
            turn_tokens=LIMITS.tutor_turn_tokens,
            response_tokens=LIMITS.response_tokens,
            temperature=0.6,
            seed=1,
        )
        return await dialogue(pair, tutor)


async def dialogue(pair, tutor):
    return await run_dialogue(
        pair.source.problem,
        opener=views.opener(pair.source.problem),
        tutor=tutor,
        student=in_process_student(RECIPE),
        settings=LIMITS,
        seed=7,
    )


def prompt(pair):
    return views.tutor_prompt(pair, "compact", end_tag=END)


def without_raw(transcript):
    """A served turn has an opening tag that a prefilled one has not; all else must agree."""
    turns = tuple(dataclasses.replace(turn, raw="") for turn in transcript.turns)
    return dataclasses.replace(transcript, turns=turns)


@pytest.mark.parametrize("mode", [ThinkingMode.OPTIONAL, ThinkingMode.PREFILLED])
@pytest.mark.parametrize("name", SCRIPTS)
async def test_the_same_words_over_tokens_and_over_chat_make_the_same_transcript(name, mode, pair, template):
    over = await over_tokens(SCRIPTS[name], pair, template)
    assert without_raw(over) == without_raw(await over_chat(SCRIPTS[name], pair, template, mode=mode))


async def test_a_turn_cut_inside_its_thinking_reaches_nobody_on_either_path(pair, template):
    """Case T02: half a plan with finish reason `length`; over chat the content is null."""
    for play in (over_tokens, over_chat):
        transcript = await play(SCRIPTS["cut inside the thinking"], pair, template)
        cut = transcript.tutor_turns[1]
        assert (cut.text, cut.thinking) == ("", "half a plan")
        assert TurnFault.THINKING_TRUNCATED in cut.faults
        assert "half a plan" not in str(views.student_view(transcript))
        assert transcript.end_reason is EndReason.TURN_LIMIT


@pytest.mark.parametrize("said", [Said("plan", "What is the wid", OTHER), Said("half a plan", None, OTHER)])
async def test_w02_a_turn_that_the_endpoint_cut_off_fails_the_dialogue_on_either_path(said, pair, template):
    for play in (over_tokens, over_chat):
        transcript = await play([*asks(1), said], pair, template)
        assert transcript.end_reason is EndReason.TUTOR_FAILED
        assert "cut the reply off" in transcript.error
        assert len(transcript.tutor_turns) == 1


@pytest.mark.parametrize(
    "name", ["ends by itself", "reaches the turn limit", "nothing visible", "tells the answer"]
)
async def test_training_and_evaluation_give_one_dialogue_the_same_numbers(
    name, pair, template, server_url, tmp_path
):
    script = SCRIPTS[name]
    if name == "tells the answer":
        script = [Said("", f"The answer is {pair.source.problem.answer}."), *script[1:]]
    student, judge = (service(server_url, role) for role in ("student", "judge"))
    settings = EpisodeSettings(
        recipe=WIDE, grader=GRADER, student=student, judge=judge, seed=42, run_dir=tmp_path, personas=None
    )
    sample = Sample(task=pair, prompt=prompt(pair), split="train", step=1, index=0)
    experience = await Classroom(settings, template).run(sample, sampled(template, script))
    [trained] = [d for path in (tmp_path / "dialogues").rglob("*.jsonl") for d in read_dialogues(path)]

    row = await evaluated(trained, sample, settings, tmp_path)
    assert row.reward == pytest.approx(experience.reward, abs=1e-12)
    assert row.leaked == bool(experience.numbers["rejected_no_handover"])
    assert row.mistaught == bool(experience.numbers["rejected_factual_correctness"])
    assert row.num_tutor_turns == experience.numbers["num_tutor_turns"]
    assert row.end_reason is trained.transcript.end_reason
    assert (trained.post_test is None) == (not row.accepted), "a rejected dialogue is not tested in training"
    if trained.post_test is not None:
        assert row.gain_transfer == pytest.approx(trained.reward.gain, abs=1e-12)
        assert row.post == trained.reward.post
    assert row.accepted == (name in ("ends by itself", "reaches the turn limit"))


async def evaluated(trained: ScoredDialogue, sample: Sample, settings: EpisodeSettings, folder: Path):
    """Evaluation's row of the transcript that training held; chance is shared through the seed."""

    class SameChance(Task):
        def seed(self, run_seed: int) -> int:
            return sample.seed(run_seed)

    rollouts, scored = folder / "rollouts.jsonl", folder / "scored.jsonl"
    held = ScoredDialogue(
        pair_id=trained.pair_id,
        transcript=trained.transcript,
        void_reason=AWAITS_SCORING,
        labels={"sample": 0},
    )
    with DialogueWriter(rollouts) as writer:
        writer.write(held)
    with Grader(GRADER) as grader:
        voids = await score(
            [SameChance(pair=sample.task, prompt=sample.prompt, sample=0)],
            Student(shared_client(settings.student), WIDE),
            Judge(shared_client(settings.judge), WIDE.judge),
            grader,
            recipe=WIDE,
            seed=settings.seed,
            rollouts=rollouts,
            file=scored,
            max_at_once=1,
            progress=lambda: None,
        )
    assert not voids
    evaluation = evaluation_settings([]).model_copy(update={"recipe": WIDE})
    [row] = to_rows(list(read_dialogues(scored)), evaluation)
    return row


def service(url: str, role: str) -> EndpointSettings:
    shipped = yaml.safe_load((configs_dir() / "endpoint" / "default.yaml").read_text())
    return EndpointSettings(**shipped | {"base_url": url, "model": f"simulated-{role}"})
