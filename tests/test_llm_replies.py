"""What a server's JSON turns into."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_servers import chat_reply

from eduardo.llm.faults import UnusableReplyError
from eduardo.llm.replies import Completion, ServedModel, decode_chat, decode_models, decode_tokens, excerpt
from eduardo.types import FinishReason


def encoded(reply: object) -> bytes:
    return json.dumps(reply).encode()


def test_tokens_are_told_only_where_the_server_counts_one_choice() -> None:
    assert decode_chat(encoded(chat_reply("a")), n=1)[0].num_tokens == 7
    assert decode_chat(encoded(chat_reply("a", "b")), n=2)[0].num_tokens is None


def test_a_reply_without_usage_and_finish_reason_is_still_an_answer() -> None:
    body = encoded({"choices": [{"message": {"content": "hi"}}], "usage": None})

    assert decode_chat(body, n=1) == (Completion(text="hi", finish=FinishReason.OTHER),)


@pytest.mark.parametrize(
    ("stated", "finish"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.OTHER),
        ("tool_calls", FinishReason.OTHER),
    ],
)
def test_finish_reasons_are_mapped(stated: str, finish: FinishReason) -> None:
    assert decode_chat(encoded(chat_reply("a", finish=stated)), n=1)[0].finish is finish


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_read_under_both_names(field: str) -> None:
    assert decode_chat(encoded(chat_reply("a", **{field: "hm"})), n=1)[0].reasoning == "hm"


def test_fewer_choices_than_asked_for_are_returned_and_more_are_cut() -> None:
    body = encoded(chat_reply("a", "b"))

    assert [c.text for c in decode_chat(body, n=5)] == ["a", "b"]
    assert [c.text for c in decode_chat(body, n=1)] == ["a"]


def test_choices_come_in_the_order_of_their_index() -> None:
    reply = chat_reply("a", "b", "c")
    choices = reply["choices"]
    assert isinstance(choices, list)
    choices.reverse()

    assert [c.text for c in decode_chat(encoded(reply), n=3)] == ["a", "b", "c"]


def test_choices_that_the_engine_gave_up_are_missing_not_answers() -> None:
    reply = chat_reply("a", "b")
    choices = reply["choices"]
    assert isinstance(choices, list)
    choices[0]["finish_reason"] = "abort"

    assert [c.text for c in decode_chat(encoded(reply), n=2)] == ["b"]


@pytest.mark.parametrize(
    ("finish", "message"),
    [
        ("length", {}),
        ("length", {"reasoning": "hm"}),
        ("stop", {"reasoning_content": "hm"}),
        ("stop", {"reasoning": ""}),
    ],
)
def test_no_content_is_an_answer_where_thinking_may_have_taken_its_place(
    finish: str, message: dict[str, str]
) -> None:
    assert decode_chat(encoded(chat_reply(None, finish=finish, **message)), n=1)[0].text is None


@pytest.mark.parametrize("finish", ["stop", "content_filter", "tool_calls", None])
@pytest.mark.parametrize("message", [{}, {"content": None}, {"content": None, "reasoning": None}])
def test_w02_k04_no_content_for_no_reason_is_no_answer(finish: str | None, message: dict[str, None]) -> None:
    blank = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    spoken = {"index": 1, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}

    assert [c.text for c in decode_chat(encoded({"choices": [blank, spoken]}), n=2)] == [""]
    with pytest.raises(UnusableReplyError, match="no finished choice with any content"):
        decode_chat(encoded({"choices": [blank]}), n=1)


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_a_body_that_is_no_reply_is_called_unusable_in_one_line(body: bytes) -> None:
    for decode in (partial(decode_chat, n=1), decode_models, decode_tokens):
        with pytest.raises(UnusableReplyError) as caught:
            decode(body)
        assert "\n" not in str(caught.value)


def token_reply(ids: list[int], logprobs: list[float], finish: str = "stop") -> bytes:
    choice = {"token_ids": ids, "logprobs": {"token_logprobs": logprobs}, "finish_reason": finish}
    return encoded({"choices": [choice]})


def test_sampled_ids_come_with_their_log_probabilities_rounding_removed() -> None:
    sampled = decode_tokens(token_reply([5, 9], [-0.5, 1e-7], finish="length"))

    assert (sampled.ids, sampled.logprobs, sampled.finish) == ((5, 9), (-0.5, 0.0), FinishReason.LENGTH)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(token_reply([5, 9], [-0.5]), id="a log-probability is missing"),
        pytest.param(token_reply([5], [-0.5], finish="abort"), id="given up by the engine"),
        pytest.param(encoded({"choices": []}), id="no choice"),
        pytest.param(encoded({"choices": [{"text": "hi"}]}), id="text only"),
    ],
)
def test_a_token_completion_that_cannot_be_trained_on_is_unusable(body: bytes) -> None:
    with pytest.raises(UnusableReplyError):
        decode_tokens(body)


def test_models_are_listed_with_their_context_where_told() -> None:
    body = encoded({"object": "list", "data": [{"id": "a", "max_model_len": 4096}, {"id": "b"}]})

    assert decode_models(body) == (
        ServedModel(name="a", context_tokens=4096),
        ServedModel(name="b", context_tokens=None),
    )


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'{"error": {"message": "too\\n long"}}', "too long"),
        (b'{"object": "error", "message": "plain"}', "plain"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"error": "flat"}', "flat"),
        (b'{"other": 1}', '{"other": 1}'),
        (b"<h1>no\n</h1>", "<h1>no </h1>"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
        (b"", "(empty body)"),
        (b"x" * 1000, "x" * 300 + " ..."),
    ],
)
def test_what_a_server_says_becomes_one_short_line(body: bytes, line: str) -> None:
    assert excerpt(body) == line
