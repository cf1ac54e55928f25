"""verl's agent loop for tutoring dialogues: exact token ids, mask and rollout log-probs, reward set in the loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import ray
from ray.exceptions import RayError, RayTaskError
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

from eduardo.chat_template import ChatTemplate
from eduardo.dataset.rows import AGENT_NAME
from eduardo.education_dialogue.rows import AGENT_NAME as LESSON_AGENT_NAME
from eduardo.errors import EndpointUnavailable
from eduardo.seeds import derive_seed
from eduardo.tutor import Generation
from eduardo.types import FinishReason
from eduardo.verl_adapter.episode import Classroom, EpisodeSettings, Experience, Sample
from eduardo.verl_adapter.stop import request_stop
from eduardo.verl_adapter.tasks import task_of

# A turn that ended as it should: of verl's vLLM server, of its client at the token limit, of its SGLang server.
_ENDED = frozenset({"completed", "length", "stop"})
_classrooms: dict[Path, Classroom] = {}  # of this worker process; one entry per run


class _RolloutServer:
    """verl's server as the tutor's source of tokens. One per dialogue."""

    def __init__(
        self, server: Any, sampling_params: Mapping[str, Any], stop_ids: tuple[int, ...], seed: int
    ) -> None:
        self._server = server
        self._sampling_params = dict(sampling_params)
        self._stop_ids = stop_ids
        self._seed = seed
        self._request_id = uuid4().hex  # keeps the turns of a dialogue on one server and its prefix cache
        self._num_turns = 0
        self.generation_s = 0.0
        self.weight_versions: list[int] = []

    async def generate(self, prompt_ids: list[int], max_tokens: int) -> Generation:
        params = {
            **self._sampling_params,
            "max_tokens": max_tokens,
            "stop_token_ids": list(self._stop_ids),
            "seed": derive_seed(self._seed, "tutor", self._num_turns),
        }
        self._num_turns += 1
        started = time.monotonic()
        try:
            output = await self._server.generate(
                request_id=self._request_id, prompt_ids=prompt_ids, sampling_params=params
            )
        except RayError as error:
            cause = error.cause if isinstance(error, RayTaskError) else error
            raise EndpointUnavailable(f"rollout server: {cause!r}") from error
        self.generation_s += time.monotonic() - started
        if output.stop_reason not in _ENDED or not output.token_ids:
            raise EndpointUnavailable(
                f"rollout server: generation ended as {output.stop_reason!r} with {len(output.token_ids)} tokens"
            )
        self.weight_versions.append(output.extra_fields["global_steps"])
        ended = output.token_ids[-1] in self._stop_ids or len(output.token_ids) < max_tokens
        return Generation(
            ids=output.token_ids,
            logprobs=output.log_probs,
            finish=FinishReason.STOP if ended else FinishReason.LENGTH,
        )


@register(AGENT_NAME)
@register(LESSON_AGENT_NAME)
class TutorAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """One instance per dialogue, as verl makes them; what dialogues share is the process's `Classroom`.

    Rows of both environments come here under names of their own.
    """

    def __init__(
        self, trainer_config: Any, server_manager: Any, tokenizer: Any, data_config: Any, **_: Any
    ) -> None:
        # verl's own constructor would prepare a builder of token ids for each dialogue; the ledger takes its place.
        self.config = trainer_config.config
        self.server_manager = server_manager
        self.tokenizer = tokenizer
        self.template_kwargs = dict(data_config.config.apply_chat_template_kwargs)

    async def run(
        self, sampling_params: dict[str, Any], *, is_validation: bool, **row: Any
    ) -> AgentLoopOutput:
        run_dir = Path(self.config.run.dir)
        sample = Sample(
            task=task_of(row),
            prompt=[{"role": m["role"], "content": m["content"]} for m in row["raw_prompt"]],
            split="val" if is_validation else "train",
            step=int(row["global_steps"]),
            index=int(row["session_id"]),
        )
        try:
            classroom = self._classroom(run_dir)
            seed = sample.seed(self.config.run.seed)
            server = _RolloutServer(self.server_manager, sampling_params, classroom.stop_ids, seed)
            started = time.monotonic()
            experience = await classroom.run(sample, server.generate)
        except Exception as error:  # whatever is wrong here would be wrong for every dialogue: end the run
            request_stop(run_dir, f"dialogue about {sample.task.id}: {error!r}", failed=True)
            raise
        return _as_verl_output(experience, server, elapsed_s=time.monotonic() - started)

    def _classroom(self, run_dir: Path) -> Classroom:
        if run_dir not in _classrooms:
            template = ChatTemplate(self.tokenizer, template_kwargs=self.template_kwargs)
            _classrooms[run_dir] = Classroom(EpisodeSettings.from_config(self.config), template)
        return _classrooms[run_dir]


def _as_verl_output(experience: Experience, server: _RolloutServer, *, elapsed_s: float) -> AgentLoopOutput:
    versions = server.weight_versions or [-1]
    return AgentLoopOutput(
        prompt_ids=experience.prompt_ids,
        response_ids=experience.response_ids,
        response_mask=experience.response_mask,
        response_logprobs=experience.rollout_logprobs,
        reward_score=experience.reward,
        num_turns=experience.num_turns,
        metrics=AgentLoopMetrics(
            generate_sequences=server.generation_s, tool_calls=max(0.0, elapsed_s - server.generation_s)
        ),
        extra_fields={
            "reward_extra_info": experience.numbers,
            "global_steps": versions[-1],
            "min_global_steps": min(versions),
            "max_global_steps": max(versions),
            "turn_scores": [],
            "tool_rewards": [],
        },
    )


class TutorLoopWorker(AgentLoopWorkerTQ.__ray_metadata__.modified_class):  # type: ignore[misc]
    """verl's worker, which does not tell an agent loop whether it validates; this one does."""

    async def _run_agent_loop(
        self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **kwargs: Any
    ) -> None:
        await super()._run_agent_loop(
            sampling_params, trajectory, is_validation=bool(trajectory["validate"]), **kwargs
        )


class TutorLoopManager(AgentLoopManagerTQ):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(TutorLoopWorker)
