"""Warm-start sequences: the tokens that a rollout would have seen, with the loss on what the tutor says.

Held for every family of chat templates: targets are the tutor's turns with their end-of-turn token and nothing else;
a dialogue that is too long ends with a whole turn; text that spells control tokens stays text.
"""

import pytest
from template_families import TEMPLATES, build_tokenizer

from eduardo.chat_template import ChatTemplate
from eduardo.dataset.rows import RowWriter
from eduardo.education_dialogue.rows import SFT_SCHEMA
from eduardo.errors import UserError
from eduardo.ledger import TokenLedger
from eduardo.protocol import parse_tutor_turn
from eduardo.types import FinishReason
from eduardo.verl_adapter.sft_dataset import TutorDialogues, encode_dialogue

MESSAGES = [
    {"role": "system", "content": "Teach the topic: Rome"},
    {"role": "user", "content": "Hello! I am here to learn about Rome."},
    {"role": "assistant", "content": "What do you know about it?"},
    {"role": "user", "content": "Nothing yet."},
    {"role": "assistant", "content": "Well done. <end_of_conversation>"},
]
REPLIES = [m["content"] for m in MESSAGES if m["role"] == "assistant"]


@pytest.fixture(params=list(TEMPLATES))
def template(request):
    return ChatTemplate(build_tokenizer(TEMPLATES[request.param]))


def target_runs(ids, mask):
    """The stretches of ids under the mask."""
    runs, before = [], 0
    for token, bit in zip(ids, mask, strict=True):
        if bit and not before:
            runs.append([])
        if bit:
            runs[-1].append(token)
        before = bit
    return runs


def test_the_loss_lies_on_the_tutors_turns_with_their_end_and_on_nothing_else(template):
    ids, mask, num_turns = encode_dialogue(MESSAGES, template, max_tokens=4000)
    assert num_turns == 2
    assert mask[0] == 0  # verl shifts the mask over the borders of packed dialogues
    for run, reply in zip(target_runs(ids, mask), REPLIES, strict=True):
        assert run == template.encode_reply(reply)
        assert run[-1] in template.stop_ids
        assert sum(token in template.stop_ids for token in run) == 1


def test_a_target_reads_back_as_the_reply_without_thinking(template):
    for reply in REPLIES:
        turn = parse_tutor_turn(
            template.decode_reply(template.encode_reply(reply)),
            mode=template.thinking_mode,
            end_tag="<end_of_conversation>",
            may_end=True,
            finish=FinishReason.STOP,
            count_tokens=len,
        )
        assert turn.text == reply.replace("<end_of_conversation>", "").strip()
        assert turn.thinking == ""
        assert turn.faults == ()


def test_the_sequence_is_the_one_that_a_rollout_would_have_recorded(template):
    ids, mask, _ = encode_dialogue(MESSAGES, template, max_tokens=4000)
    ledger = TokenLedger(template, MESSAGES[:2], max_response_tokens=4000)
    for message in MESSAGES[2:]:
        if message["role"] == "user":
            ledger.add_user_turn(message["content"])
        else:
            sampled = template.encode_reply(message["content"])
            ledger.add_sampled(sampled, [0.0] * len(sampled))
    assert ids == ledger.ids
    assert mask[len(ledger.prompt_ids) :] == ledger.response_mask


def test_a_long_dialogue_ends_with_the_last_whole_turn_that_fits(template):
    whole = len(encode_dialogue(MESSAGES, template, max_tokens=4000)[0])
    ids, mask, num_turns = encode_dialogue(MESSAGES, template, max_tokens=whole - 1)
    assert num_turns == 1
    assert len(ids) < whole
    assert ids[-1] in template.stop_ids
    assert mask[-1] == 1
    assert encode_dialogue(MESSAGES, template, max_tokens=10)[2] == 0


def test_text_that_spells_control_tokens_stays_text(template):
    spelled = "".join(map(str, template._tokenizer.added_tokens_decoder.values()))

    def controls(text):
        messages = [dict(message) for message in MESSAGES]
        messages[2]["content"] = messages[3]["content"] = text
        ids, _, _ = encode_dialogue(messages, template, max_tokens=4000)
        return sum(token in template._tokenizer.added_tokens_decoder for token in ids)

    assert controls(spelled) == controls("plain")


def config(**changes):
    return {"apply_chat_template_kwargs": {}, "messages_key": "messages", "max_length": 4000, **changes}


@pytest.fixture
def file(tmp_path):
    with RowWriter(tmp_path / "sft.parquet", SFT_SCHEMA) as writer:
        for number in range(3):
            writer.write({"id": f"c{number}", "topic": "Rome", "messages": MESSAGES})
    return str(tmp_path / "sft.parquet")


def test_items_are_what_verls_trainer_takes(file):
    dialogues = TutorDialogues([file], build_tokenizer(TEMPLATES["header"]), config(), max_samples=2)
    assert len(dialogues) == 2
    item = dialogues[0]
    assert len(item["input_ids"]) == len(item["loss_mask"]) == len(item["position_ids"])
    assert item["position_ids"].tolist() == list(range(len(item["input_ids"])))


def test_a_row_whose_first_turn_does_not_fit_is_named(file):
    with pytest.raises(UserError, match=r"row c0: .* sft.data.max_length=20 tokens"):
        TutorDialogues([file], build_tokenizer(TEMPLATES["header"]), config(max_length=20))
