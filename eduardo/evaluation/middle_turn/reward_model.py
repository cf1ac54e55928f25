"""Second stage: a pedagogical reward model, any sequence classifier with one logit, scores the answers.

Conversations are laid out as the published scorer of MathTutorBench lays them out: a system prompt, the problem with
its reference solution as the first user message, teacher turns as `assistant`, student turns as `user`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eduardo.control_tokens import broken_up
from eduardo.errors import UserError
from eduardo.evaluation.jsonl import append_lines, read_lines
from eduardo.evaluation.middle_turn.answers import Answer
from eduardo.evaluation.middle_turn.moments import Moment
from eduardo.evaluation.middle_turn.settings import RewardModelSettings
from eduardo.templates import render
from eduardo.types import Message, Speaker
from eduardo.views import SILENCE


class Score(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    score: float
    was_cut: bool  # the conversation was too long and lost its beginning


def score_all(
    moments: Sequence[Moment],
    answers: Mapping[str, Answer],
    model: RewardModel,
    *,
    file: Path,
    progress: Callable[[int], None],
) -> None:
    """Score every answer that `file` does not hold yet, similar lengths together."""
    done = {score.id for score in read_lines(file, Score)}
    missing = [moment for moment in moments if moment.id in answers and moment.id not in done]
    chats = {m.id: scored_chat(m, answers[m.id].text, model.system_prompt) for m in missing}
    order = sorted(chats, key=lambda name: sum(len(message["content"]) for message in chats[name]))
    with append_lines(file, Score) as writer:
        for start in range(0, len(order), model.batch_size):
            batch = order[start : start + model.batch_size]
            scores = model.score([chats[name] for name in batch])
            for name, (score, was_cut) in zip(batch, scores, strict=True):
                writer.write(msgspec.json.encode(Score(id=name, score=score, was_cut=was_cut)))
            progress(len(batch))


def scored_chat(moment: Moment, answer: str, system_prompt: str) -> list[Message]:
    problem = f"Problem: {moment.problem.text}\nReference Solution: {moment.problem.answer}"
    return [
        {"role": "system", "content": system_prompt},
        {"role": "user", "content": problem},
        *(
            {"role": "assistant" if turn.speaker is Speaker.TUTOR else "user", "content": turn.text}
            for turn in moment.history
        ),
        {"role": "assistant", "content": answer or SILENCE},
    ]


class RewardModel:
    """Loads torch and the model; raises UserError when it is no classifier with one logit."""

    def __init__(self, settings: RewardModelSettings) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        device = _device(settings.device, torch.cuda.is_available())
        dtype = _dtype(settings.dtype, device)
        name = str(settings.path)
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(name, revision=settings.revision)
            self._model: Any = AutoModelForSequenceClassification.from_pretrained(
                name, revision=settings.revision, dtype=getattr(torch, dtype)
            )
        except (OSError, ValueError) as error:
            raise UserError(
                f"reward_model.path={name}: cannot be loaded ({str(error).splitlines()[0]})"
            ) from error
        if self._model.config.num_labels != 1:
            raise UserError(
                f"reward_model.path={name}: a classifier with {self._model.config.num_labels} logits; "
                "a reward model has one"
            )
        self._model.to(device).eval()
        self._set_padding()
        self._max_tokens = settings.max_tokens
        self.batch_size = settings.batch_size
        self.system_prompt = system_prompt(settings.system_prompt_file)
        self.facts = {"device": device, "dtype": dtype}

    def score(self, chats: Sequence[list[Message]]) -> list[tuple[float, bool]]:
        """(score, whether the beginning was cut) of each conversation."""
        import torch

        ids = [self._tokenizer(self._text(chat), add_special_tokens=False)["input_ids"] for chat in chats]
        kept = [one[-self._max_tokens :] for one in ids]
        batch = self._tokenizer.pad({"input_ids": kept}, padding=True, return_tensors="pt")
        with torch.inference_mode():
            logits = self._model(**batch.to(self._model.device)).logits[:, 0].float()
        return [(float(logit), len(one) > self._max_tokens) for logit, one in zip(logits, ids, strict=True)]

    def _text(self, chat: list[Message]) -> str:
        """By the model's own chat template; a model without one gets `role: text` lines."""
        chat = broken_up(chat)
        if self._tokenizer.chat_template is None:
            return "\n".join(f"{message['role']}: {message['content']}" for message in chat)
        return str(self._tokenizer.apply_chat_template(chat, tokenize=False))

    def _set_padding(self) -> None:
        """On the right, where a classifier looks for the last token that is no padding."""
        self._tokenizer.padding_side = "right"
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        if self._tokenizer.pad_token_id is None:
            raise UserError("the reward model's tokenizer has neither a padding nor an end-of-text token")
        self._model.config.pad_token_id = self._tokenizer.pad_token_id


def _device(wanted: str, has_gpu: bool) -> str:
    if wanted == "cuda" and not has_gpu:
        raise UserError("reward_model.device=cuda: this machine has no GPU that torch can use")
    return ("cuda" if has_gpu else "cpu") if wanted == "auto" else wanted


def _dtype(wanted: str, device: str) -> str:
    return ("bfloat16" if device == "cuda" else "float32") if wanted == "auto" else wanted


def system_prompt(file: str | None) -> str:
    """What the reward model is told first: our wording, or that of a file. Raises UserError."""
    if file is None:
        return render("reward_model_system")
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"reward_model.system_prompt_file={file}: cannot be read ({error})") from error
