"""The classroom's models without HTTP: the same replies as from the server, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eduardo.classroom import sim_judge, sim_rewriter, sim_student
from eduardo.classroom.sim_settings import SimSettings, load_sim_settings
from eduardo.classroom.wire import Brain, ChatRequest, sample
from eduardo.judge import Judge
from eduardo.llm import Completion
from eduardo.settings import RecipeSettings
from eduardo.student import Student
from eduardo.types import FinishReason, Message

STUDENT_MODEL = "simulated-student"
JUDGE_MODEL = "simulated-judge"
REWRITER_MODEL = "simulated-rewriter"


def brains(settings: SimSettings | None = None) -> dict[str, Brain]:
    """Served model name → who answers for it. With the shipped parameters unless others are given."""
    params = settings or load_sim_settings()
    return {
        STUDENT_MODEL: lambda messages, rng: sim_student.reply(messages, rng, params.student),
        JUDGE_MODEL: lambda messages, rng: sim_judge.judge(messages, rng, params.judge),
        REWRITER_MODEL: lambda messages, rng: sim_rewriter.reply(messages, rng, params.rewriter),
    }


class InProcessClient:
    """A `Completer` that answers from a brain: the same request gets the same reply as over HTTP."""

    def __init__(self, model: str, brain: Brain) -> None:
        self._model, self._brain = model, brain

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        temperature: float,
        max_tokens: int,
        seed: int | None = None,
        response_format: Mapping[str, object] | None = None,
        extra_body: Mapping[str, object] | None = None,
    ) -> tuple[Completion, ...]:
        """`n` replies, cut after `max_tokens` words and marks. The last two arguments have no effect."""
        request = ChatRequest.model_validate(
            {
                "model": self._model,
                "messages": [dict(message) for message in messages],
                "temperature": temperature,
                "seed": seed,
            }
        )
        completions = []
        for index in range(n):
            text, num_tokens, finish = sample(self._brain, request, index=index, max_tokens=max_tokens)
            completions.append(Completion(text=text, finish=FinishReason(finish), num_tokens=num_tokens))
        return tuple(completions)


def in_process_student(recipe: RecipeSettings, settings: SimSettings | None = None) -> Student:
    return Student(_client(STUDENT_MODEL, settings), recipe)


def in_process_judge(recipe: RecipeSettings, settings: SimSettings | None = None) -> Judge:
    return Judge(_client(JUDGE_MODEL, settings), recipe.judge)


def _client(model: str, settings: SimSettings | None) -> InProcessClient:
    return InProcessClient(model, brains(settings)[model])
