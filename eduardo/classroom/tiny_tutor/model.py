"""The tiny tutor's network: a small Qwen3, saved as an ordinary Hugging Face folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from eduardo.settings import Count, Settings


class ModelShape(Settings):
    """Sizes of the network. vLLM on CPU serves head sizes of 32 and 64 among others, and none below 32."""

    hidden_size: Count
    num_layers: Count
    num_heads: Count
    num_key_value_heads: Count
    head_dim: Annotated[int, Field(ge=32, multiple_of=32)]
    intermediate_size: Count
    max_positions: Count
    initializer_range: Annotated[float, Field(gt=0)]


def build_model(shape: ModelShape, tokenizer: PreTrainedTokenizerFast, *, seed: int) -> Qwen3ForCausalLM:
    """A freshly initialised network (float32, tied embeddings) for `tokenizer`; same seed, same weights."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=shape.max_positions,
        initializer_range=shape.initializer_range,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation="sdpa",
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=True
    )
    return model


def save_tutor(folder: Path, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """Write the folder in one move: it is complete or absent, never half-written."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    model.save_pretrained(draft)
    tokenizer.save_pretrained(draft)
    if folder.exists():
        shutil.rmtree(folder)
    draft.rename(folder)
