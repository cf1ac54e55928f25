"""Supervised training of the tiny tutor on finished dialogues: plain PyTorch, loss on the tutor's tokens only."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch.nn import functional
from transformers import LlamaForCausalLM

from eduardo.classroom.tiny_tutor.examples import Example
from eduardo.settings import Count, Settings, Share

_BUCKET_BATCHES = 16  # batches whose examples are sorted by length together: little padding, still mixed


class ImitationSettings(Settings):
    num_steps: Count
    examples_per_step: Count
    context_weight: Share  # of a token that the tutor did not write, against 1 for one that it wrote
    learning_rate: Annotated[float, Field(gt=0)]
    warmup_share: Share  # of the steps; the rate then falls to a tenth along a cosine
    weight_decay: Annotated[float, Field(ge=0)]
    grad_clip: Annotated[float, Field(gt=0)]


def imitate(
    model: LlamaForCausalLM,
    examples: Sequence[Example],
    settings: ImitationSettings,
    *,
    seed: int,
    on_progress: Callable[[int, float], None],
) -> None:
    """Train in place. `on_progress(step, loss)` is called after every step. Deterministic for a thread count."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.95), weight_decay=settings.weight_decay
    )
    model.train()
    batches = _batches(examples, settings.examples_per_step, random.Random(seed))
    for step in range(settings.num_steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * _rate(step, settings)
        loss = imitation_loss(model, next(batches), context_weight=settings.context_weight)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.grad_clip)
        optimizer.step()
        on_progress(step + 1, loss.item())
    model.eval()


def imitation_loss(
    model: LlamaForCausalLM, batch: Sequence[Example], *, context_weight: float
) -> torch.Tensor:
    """Weighted mean negative log-likelihood (nats) of the next token.

    Examples are padded on the right, which causal attention never looks at, so no mask is needed; logits are
    computed only where they count, since they are the largest part of the work at this model size.
    """
    ids, is_target = pad(batch, pad_id=int(model.config.pad_token_id or 0))
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    weights = torch.where(is_target, 1.0, context_weight)[:, 1:] * (ids[:, 1:] != model.config.pad_token_id)
    wanted = weights > 0
    logits = model.lm_head(hidden[wanted])
    losses = functional.cross_entropy(logits, ids[:, 1:][wanted], reduction="none")
    return (losses * weights[wanted]).sum() / weights.sum()


def pad(batch: Sequence[Example], *, pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and target flags, both [examples, tokens], padded on the right."""
    length = max(len(example.ids) for example in batch)
    ids = torch.full((len(batch), length), pad_id)
    is_target = torch.zeros((len(batch), length), dtype=torch.bool)
    for row, example in enumerate(batch):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        is_target[row, : len(example.ids)] = torch.tensor(example.is_target)
    return ids, is_target


def _rate(step: int, settings: ImitationSettings) -> float:
    num_warmup = max(1, round(settings.warmup_share * settings.num_steps))
    if step < num_warmup:
        return (step + 1) / num_warmup
    done = (step - num_warmup) / max(1, settings.num_steps - num_warmup)
    return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done))


def _batches(examples: Sequence[Example], size: int, rng: random.Random) -> Iterator[list[Example]]:
    """Endless batches of examples of similar length; every example once per pass."""
    while True:
        order = rng.sample(range(len(examples)), len(examples))
        for start in range(0, len(order), size * _BUCKET_BATCHES):
            bucket = sorted(order[start : start + size * _BUCKET_BATCHES], key=lambda i: len(examples[i].ids))
            batches = [bucket[at : at + size] for at in range(0, len(bucket), size)]
            rng.shuffle(batches)
            for batch in batches:
                yield [examples[i] for i in batch]
