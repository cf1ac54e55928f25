"""What a tokenizer's chat template does to a multi-turn dialogue: probed once, then used token by token.

Text from a student or a problem is data: where it spells a control token, it is tokenised as plain characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from jinja2 import TemplateError

from eduardo.errors import UserError
from eduardo.protocol import ThinkingMode, detect_thinking_mode
from eduardo.types import Message

_THINKING_TAGS = ("<think>", "</think>")


class Tokenizer(Protocol):
    """The part of a Hugging Face fast tokenizer that is used."""

    eos_token_id: int | None
    name_or_path: str

    @property
    def added_tokens_decoder(self) -> Mapping[int, Any]: ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str: ...

    def apply_chat_template(
        self, conversation: list[Message], *, tokenize: bool, add_generation_prompt: bool, **kwargs: Any
    ) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateReport:
    """What the start-up probe found; logged with every run."""

    thinking_mode: ThinkingMode
    has_system_role: bool  # False: the system prompt is folded into the first user turn
    rewrites_history: (
        bool  # True: the template drops or changes earlier turns; ids stay append-only all the same
    )
    end_of_turn: str


class ChatTemplate:
    """Token-exact building blocks of a dialogue for one tokenizer. Raises UserError if it cannot be trained on."""

    def __init__(self, tokenizer: Tokenizer, *, template_kwargs: Mapping[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._kwargs = dict(template_kwargs or {})
        self._controls = _control_strings(tokenizer)
        self._has_system_role = self._accepts_system_role()
        try:
            self.report = self._probe()
        except TemplateError as error:
            raise UserError(
                f"{tokenizer.name_or_path}: the chat template refuses a dialogue of user and assistant ({error}), "
                "so a tutor cannot be trained with it"
            ) from error

    @property
    def thinking_mode(self) -> ThinkingMode:
        return self.report.thinking_mode

    def encode_prompt(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the opening messages with the generation prompt; equals the template's own ids for plain text."""
        messages = self._fold_system(messages)
        marks = [_mark(i) for i in range(len(messages))]
        marked = [{**m, "content": mark} for m, mark in zip(messages, marks, strict=True)]
        contents = {mark: m["content"].strip() for m, mark in zip(messages, marks, strict=True)}
        return self._encode_filled(self._render(marked), contents)

    def encode_user_turn(self, text: str, *, after_id: int | None) -> list[int]:
        """Ids between a sampled assistant turn and the next one: end of turn, the user's turn, generation prompt.

        `after_id` is the last sampled id: an end-of-turn token that the policy sampled itself is not repeated.
        """
        ids = self._encode_filled(self._between_turns, {_mark(0): text.strip()})
        return ids[1:] if after_id is not None and ids and ids[0] == after_id else ids

    def encode_reply(self, text: str) -> list[int]:
        """Ids of a whole turn of the tutor that says `text` without thinking, its end-of-turn token included.

        What a policy would have to sample after the generation prompt: where the template opens thinking, or puts an
        empty one before a reply, the turn begins with that.
        """
        lead = self._tokenizer.encode(self._reply_lead, add_special_tokens=False) if self._reply_lead else []
        return [*lead, *self._encode_data(text.strip()), self.stop_ids[0]]

    def decode_reply(self, ids: Sequence[int]) -> str:
        """Text of a sampled turn: end-of-turn and other special tokens removed, thinking tags kept."""
        text = self._tokenizer.decode(list(ids), skip_special_tokens=False)
        for control in self._controls:
            if control not in _THINKING_TAGS:
                text = text.replace(control, "")
        return text

    def count_tokens(self, text: str) -> int:
        return len(self._encode_data(text)) if text else 0

    @cached_property
    def stop_ids(self) -> tuple[int, ...]:
        """Ids that end a turn: the template's end-of-turn token and the tokenizer's end of sequence."""
        first = self._tokenizer.encode(self.report.end_of_turn, add_special_tokens=False)[:1]
        eos = self._tokenizer.eos_token_id
        return tuple(dict.fromkeys([*first, *([] if eos is None else [eos])]))

    # -- probing ------------------------------------------------------------------------------------------------

    def _probe(self) -> TemplateReport:
        name = self._tokenizer.name_or_path
        first_turn = self._fold_system([_message("system", "s"), _message("user", "u")])
        generation_prompt = self._render(first_turn)
        if generation_prompt == self._render(first_turn, add_generation_prompt=False):
            raise UserError(
                f"{name}: the chat template has no generation prompt, so a tutor cannot be trained with it"
            )
        end_of_turn = self._between_turns.lstrip().split("\n")[0]
        controls = sorted((c for c in self._controls if end_of_turn.startswith(c)), key=len)
        if not controls:
            raise UserError(
                f"{name}: the chat template does not end an assistant turn with a special token "
                f"(found {end_of_turn[:40]!r}), so a turn has no end to be learned"
            )
        two_turns = [*first_turn, _message("assistant", "<think>\nr\n</think>\n\na"), _message("user", "v")]
        rewritten = "<think>\nr\n</think>" not in self._render(two_turns)
        return TemplateReport(
            thinking_mode=detect_thinking_mode(generation_prompt),
            has_system_role=self._has_system_role,
            rewrites_history=rewritten,
            end_of_turn=controls[-1],
        )

    def _accepts_system_role(self) -> bool:
        if not getattr(self._tokenizer, "chat_template", None):
            raise UserError(
                f"{self._tokenizer.name_or_path}: the tokenizer has no chat template; use an instruct checkpoint"
            )
        try:
            rendered = self._render([_message("system", _mark(0)), _message("user", _mark(1))])
        except TemplateError:  # the way a template refuses a conversation
            return False
        return _mark(0) in rendered

    @cached_property
    def _between_turns(self) -> str:
        """Template text from the end of an assistant's content to the next generation prompt, user text marked."""
        conversation = self._fold_system([_message("system", "s"), _message("user", "u")])
        conversation += [_message("assistant", _mark(1)), _message("user", _mark(0))]
        rendered = self._render(conversation)
        _, found, tail = rendered.partition(_mark(1))
        if not found or _mark(0) not in tail or _mark(1) in tail:
            raise UserError(
                f"{self._tokenizer.name_or_path}: the chat template does not show an earlier assistant turn "
                "and the user turn after it once and in order, so dialogues cannot be built with it"
            )
        return tail

    @cached_property
    def _reply_lead(self) -> str:
        """Template text between the generation prompt and a reply without thinking."""
        opening = self._fold_system([_message("system", "s"), _message("user", "u")])
        prompt = self._render(opening)
        whole = self._render([*opening, _message("assistant", _mark(0))], add_generation_prompt=False)
        if whole.startswith(prompt):
            return whole[len(prompt) :].partition(_mark(0))[0]
        return "</think>\n\n" if self.thinking_mode is ThinkingMode.PREFILLED else ""

    # -- rendering and tokenising -------------------------------------------------------------------------------

    def _render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> str:
        rendered = self._tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=add_generation_prompt, **self._kwargs
        )
        return str(rendered)

    def _fold_system(self, messages: Sequence[Message]) -> list[Message]:
        if self._has_system_role or not messages or messages[0]["role"] != "system":
            return list(messages)
        if len(messages) < 2 or messages[1]["role"] != "user":
            raise UserError("a dialogue must open with a user turn after its system prompt")
        joined = f"{messages[0]['content'].strip()}\n\n{messages[1]['content'].strip()}"
        return [_message("user", joined), *messages[2:]]

    def _encode_filled(self, marked: str, contents: Mapping[str, str]) -> list[int]:
        """Tokenise rendered text with its marks replaced: in one piece where content spells no control token."""
        if not any(self._spells_control(text) for text in contents.values()):
            for mark, text in contents.items():
                marked = marked.replace(mark, text)
            return self._tokenizer.encode(marked, add_special_tokens=False)
        ids: list[int] = []
        for mark, text in contents.items():
            scaffold, _, marked = marked.partition(mark)
            ids += self._tokenizer.encode(scaffold, add_special_tokens=False) if scaffold else []
            ids += self._encode_data(text)
        return ids + (self._tokenizer.encode(marked, add_special_tokens=False) if marked else [])

    def _encode_data(self, text: str) -> list[int]:
        """Tokenise text so that no control token can come out, whatever it spells."""
        control = next((c for c in self._controls if c in text), None)
        if control is None:
            return self._tokenizer.encode(text, add_special_tokens=False) if text else []
        cut = text.index(control) + 1
        return self._encode_data(text[:cut]) + self._encode_data(text[cut:])

    def _spells_control(self, text: str) -> bool:
        return any(control in text for control in self._controls)


def _control_strings(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Every added token that is more than white space or one character, longest first."""
    added = {str(token) for token in tokenizer.added_tokens_decoder.values()}
    return tuple(sorted((t for t in added if len(t.strip()) > 1), key=lambda t: (-len(t), t)))


def _mark(index: int) -> str:
    """A stand-in for content that no template alters: private-use characters around a number."""
    return f"\ue000{index}\ue001"


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}
