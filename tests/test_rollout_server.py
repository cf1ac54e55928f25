"""A turn of verl's rollout server is one only if it ended as a turn does; all else is a fault, never learned from."""

from types import SimpleNamespace

import pytest

pytest.importorskip("verl")

from verl.workers.rollout.replica import TokenOutput

from eduardo.errors import EndpointUnavailable
from eduardo.types import FinishReason
from eduardo.verl_adapter.agent_loop import _RolloutServer

STOP_ID = 9


def server(ids, stop_reason):
    async def generate(**_):
        return TokenOutput(
            token_ids=ids,
            log_probs=[-0.1] * len(ids),
            stop_reason=stop_reason,
            extra_fields={"global_steps": 3},
        )

    return _RolloutServer(SimpleNamespace(generate=generate), {"temperature": 1.0}, (STOP_ID,), seed=1)


@pytest.mark.parametrize("stop_reason", ["completed", "stop"])
async def test_a_turn_that_ended_by_itself_is_taken(stop_reason):
    said = await server([1, 2, STOP_ID], stop_reason).generate([5], 10)
    assert (said.ids, said.finish) == ([1, 2, STOP_ID], FinishReason.STOP)


@pytest.mark.parametrize("stop_reason", ["completed", "length"])
async def test_a_turn_that_its_limit_ended_is_taken_as_cut(stop_reason):
    assert (await server([1, 2, 3], stop_reason).generate([5], 3)).finish is FinishReason.LENGTH


@pytest.mark.parametrize(
    "stop_reason", ["aborted", "abort", "error", "repetition", "of a later version", None]
)
async def test_any_other_end_is_a_fault_though_there_are_tokens(stop_reason):
    with pytest.raises(EndpointUnavailable, match=f"ended as {stop_reason!r} with 2 tokens"):
        await server([1, 2], stop_reason).generate([5], 10)


async def test_no_tokens_are_no_turn():
    with pytest.raises(EndpointUnavailable, match="with 0 tokens"):
        await server([], "completed").generate([5], 10)
