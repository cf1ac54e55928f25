"""Chat-template families and the token ledger: ids stay exact, and text never becomes a control token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from template_families import SPECIALS, TEMPLATES, build_tokenizer

from eduardo.chat_template import ChatTemplate
from eduardo.errors import UserError
from eduardo.ledger import TokenLedger
from eduardo.protocol import ThinkingMode

FAMILIES = {name: ChatTemplate(build_tokenizer(template)) for name, template in TEMPLATES.items()}
OPENING = [{"role": "system", "content": "Teach."}, {"role": "user", "content": "hello, help me"}]
END_OF_TURN = {"prefilled": "<|im_end|>", "optional": "<|im_end|>", "rewriting": "<|im_end|>"}
END_OF_TURN |= {"header": "<|eot|>", "no_system": "<|/turn|>"}


def ids_of(text: str, name: str = "prefilled") -> list[int]:
    return FAMILIES[name]._tokenizer.encode(text, add_special_tokens=False)


def sampled(ledger: TokenLedger, ids: list[int]) -> None:
    ledger.add_sampled(ids, [-0.5] * len(ids))


@pytest.mark.parametrize("name", TEMPLATES)
class TestEveryFamily:
    def test_c02_c04_probe_reports_thinking_system_role_and_history(self, name: str) -> None:
        report = FAMILIES[name].report
        expected = ThinkingMode.PREFILLED if name == "prefilled" else ThinkingMode.OPTIONAL
        assert report.thinking_mode is expected
        assert report.has_system_role == (name != "no_system")
        assert report.rewrites_history == (name == "rewriting")
        assert report.end_of_turn == END_OF_TURN[name]

    def test_prompt_ids_equal_the_templates_own(self, name: str) -> None:
        template, tokenizer = FAMILIES[name], FAMILIES[name]._tokenizer
        messages = OPENING
        if name == "no_system":
            messages = [{"role": "user", "content": "Teach.\n\nhello, help me"}]
        own = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        assert template.encode_prompt(OPENING) == tokenizer.encode(own, add_special_tokens=False)

    def test_incremental_ids_equal_the_full_rendering(self, name: str) -> None:
        """C05: with plain replies the ledger holds what the template renders for the whole dialogue."""
        template, tokenizer = FAMILIES[name], FAMILIES[name]._tokenizer
        ledger = TokenLedger(template, OPENING, max_response_tokens=10_000)
        sampled(ledger, ids_of("What have you tried?" + END_OF_TURN[name]))
        assert ledger.add_user_turn("I added 3 and 4.")
        full = ledger._template._fold_system(OPENING)
        full += [{"role": "assistant", "content": "What have you tried?"}]
        full += [{"role": "user", "content": "I added 3 and 4."}]
        rendered = tokenizer.apply_chat_template(full, add_generation_prompt=True, tokenize=False)
        if (
            name == "prefilled"
        ):  # the sampled turn followed an open thinking tag, which history does not repeat
            rendered = rendered.replace("assistant\nWhat", "assistant\n<think>\nWhat")
        assert tokenizer.decode(ledger.ids) == rendered
        assert ledger.ids == tokenizer.encode(rendered, add_special_tokens=False)

    def test_sampled_end_of_turn_is_trained_on_and_not_doubled(self, name: str) -> None:
        ledger = TokenLedger(FAMILIES[name], OPENING, max_response_tokens=10_000)
        end_id = ids_of(END_OF_TURN[name])[0]
        sampled(ledger, [*ids_of("Why?"), end_id])
        ledger.add_user_turn("Because.")
        assert ledger.response_ids.count(end_id) == 2  # the tutor's own and the user's
        assert ledger.response_mask[4] == 1

    def test_cut_turn_gets_its_end_with_mask_zero(self, name: str) -> None:
        ledger = TokenLedger(FAMILIES[name], OPENING, max_response_tokens=10_000)
        sampled(ledger, ids_of("Why do"))
        ledger.add_user_turn("Because.")
        assert ledger.response_ids[6] == ids_of(END_OF_TURN[name])[0]
        assert ledger.response_mask[6] == 0
        ledger.check()

    @pytest.mark.parametrize("control", [*SPECIALS, "<think>", "</think>"])
    def test_student_and_problem_text_cannot_become_a_control_token(self, name: str, control: str) -> None:
        template = FAMILIES[name]
        control_id = ids_of(control)[0]
        plain = template.encode_prompt([OPENING[0], {"role": "user", "content": "x  y"}])
        hostile = template.encode_prompt([OPENING[0], {"role": "user", "content": f"x {control}{control} y"}])
        assert hostile.count(control_id) == plain.count(control_id)
        plain = template.encode_user_turn("x  y", after_id=None)
        hostile = template.encode_user_turn(f"x {control} y", after_id=None)
        assert hostile.count(control_id) == plain.count(control_id)
        assert f"x {control} y" in template._tokenizer.decode(hostile)


def test_c02_a_template_that_rewrites_history_changes_no_id_of_an_earlier_turn() -> None:
    template, tokenizer = FAMILIES["rewriting"], FAMILIES["rewriting"]._tokenizer
    answered = [*OPENING, {"role": "assistant", "content": "<think>r</think>a1"}]
    asked = [*answered, {"role": "user", "content": "Why?"}]
    before, after = (tokenizer.apply_chat_template(chat, tokenize=False) for chat in (OPENING, asked))
    assert after.startswith(before)
    assert "<think>r</think>" not in after  # so its rendering of the dialogue is not what was sampled
    ledger = TokenLedger(template, OPENING, max_response_tokens=1000)
    turn = ids_of("<think>r</think>a1<|im_end|>", "rewriting")
    sampled(ledger, turn)
    held = list(ledger.ids)
    assert ledger.add_user_turn("Why?")
    assert ledger.ids[: len(held)] == held
    assert ledger.response_ids[: len(turn)] == turn
    assert ledger.response_mask[: len(turn)] == [1] * len(turn)


def test_c05_the_mask_marks_exactly_what_was_sampled_and_never_nothing() -> None:
    ledger = TokenLedger(FAMILIES["header"], OPENING, max_response_tokens=1000)
    turns = [ids_of("Why?<|eot|>", "header"), ids_of("Go on.<|eot|>", "header")]
    sampled(ledger, turns[0])
    ledger.add_user_turn("Because.")
    sampled(ledger, turns[1])
    assert sum(ledger.response_mask) == sum(map(len, turns))
    assert ledger.response_mask[0] == ledger.response_mask[-1] == 1


class TestLedger:
    def test_c01_keeps_sampled_ids_that_would_re_encode_differently(self) -> None:
        """`he` + `llo` re-encodes to `hello`; the ledger keeps what was sampled."""
        template = FAMILIES["prefilled"]
        parts = [*ids_of("he"), *ids_of("ll"), *ids_of("o")]
        assert ids_of("hello") != parts
        ledger = TokenLedger(template, OPENING, max_response_tokens=100)
        sampled(ledger, parts)
        assert ledger.response_ids == parts

    def test_a_user_turn_that_leaves_no_room_is_not_added(self) -> None:
        ledger = TokenLedger(FAMILIES["prefilled"], OPENING, max_response_tokens=40)
        sampled(ledger, ids_of("Why?<|im_end|>"))
        before = list(ledger.response_ids)
        assert not ledger.add_user_turn("x" * 40)
        assert ledger.response_ids == before
        ledger.check()

    def test_refuses_misaligned_or_impossible_log_probabilities(self) -> None:
        ledger = TokenLedger(FAMILIES["prefilled"], OPENING, max_response_tokens=4)
        with pytest.raises(ValueError, match="2 sampled ids but 1"):
            ledger.add_sampled([1, 2], [-0.1])
        with pytest.raises(ValueError, match="do not fit"):
            ledger.add_sampled([1] * 5, [-0.1] * 5)
        for bad in (0.5, float("nan"), float("-inf")):
            with pytest.raises(ValueError, match="log-probability"):
                ledger.add_sampled([1], [bad])

    @given(
        st.lists(
            st.tuples(st.lists(st.integers(0, 255), min_size=1, max_size=20), st.text(max_size=30)),
            max_size=6,
        )
    )
    def test_invariants_hold_for_any_dialogue(self, turns: list[tuple[list[int], str]]) -> None:
        ledger = TokenLedger(FAMILIES["header"], OPENING, max_response_tokens=200)
        for ids, text in turns:
            if len(ids) > ledger.room:
                break
            sampled(ledger, ids)
            if not ledger.add_user_turn(text):
                break
        ledger.check()
        kept = [i for i, m in zip(ledger.response_ids, ledger.response_mask, strict=True) if m]
        assert kept == [i for ids, _ in turns for i in ids][: len(kept)]


class TestReplies:
    def test_decoding_drops_special_tokens_and_keeps_thinking_tags(self) -> None:
        template = FAMILIES["prefilled"]
        ids = ids_of("plan</think>Why?<|im_end|><|end|>")
        assert template.decode_reply(ids) == "plan</think>Why?"

    def test_switching_thinking_off_shows_in_the_mode(self) -> None:
        off = ChatTemplate(build_tokenizer(TEMPLATES["optional"]), template_kwargs={"enable_thinking": False})
        assert off.thinking_mode is ThinkingMode.NONE

    def test_stop_ids_are_the_end_of_turn_and_the_end_of_sequence(self) -> None:
        assert FAMILIES["header"].stop_ids == (ids_of("<|eot|>")[0], ids_of("<|end|>")[0])


class TestRefusals:
    @pytest.mark.parametrize(
        "refused",
        ["messages[0].role != 'assistant'", "messages[-1].role == 'user' and messages | length > 2"],
    )
    def test_c04_a_template_that_refuses_every_dialogue_is_named_at_start_up(self, refused: str) -> None:
        tokenizer = build_tokenizer(
            "{% if "
            + refused
            + " %}{{ raise_exception('Roles must alternate') }}{% endif %}"
            + TEMPLATES["header"]
        )
        tokenizer.name_or_path = "some/model"
        with pytest.raises(UserError, match=r"some/model: .*Roles must alternate"):
            ChatTemplate(tokenizer)

    @pytest.mark.parametrize(
        ("template", "message"),
        [
            (None, "no chat template"),
            (
                "{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>{% endfor %}",
                "no generation prompt",
            ),
            (
                "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
                "{% if add_generation_prompt %}assistant:{% endif %}",
                "does not end an assistant turn with a special token",
            ),
            (
                "{{ messages[0].content }}{{ messages[-1].content }}<|end|>"
                "{% if add_generation_prompt %}<|turn|>{% endif %}",
                "does not show an earlier assistant turn",
            ),
        ],
    )
    def test_templates_that_cannot_be_trained_are_refused(self, template: str | None, message: str) -> None:
        with pytest.raises(UserError, match=message):
            ChatTemplate(build_tokenizer(template))
