"""The tiny tutor's network: a small Llama with attention biases, saved as an ordinary Hugging Face folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from eduardo.errors import UserError
from eduardo.settings import Count, Settings


class ModelShape(Settings):
    """Sizes of the network. vLLM on CPU serves head sizes of 32 and 64 among others, and none below 32."""

    num_layers: Count
    num_heads: Count
    head_dim: Annotated[int, Field(ge=32, multiple_of=32)]
    intermediate_size: Count
    max_positions: Count
    initializer_range: Annotated[float, Field(gt=0)]
    look_back_sharpness: Annotated[float, Field(ge=0)]


def build_model(shape: ModelShape, tokenizer: PreTrainedTokenizerFast, *, seed: int) -> LlamaForCausalLM:
    """A freshly initialised network (float32, tied embeddings) for `tokenizer`; same seed, same weights."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.num_heads * shape.head_dim,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_heads,
        max_position_embeddings=shape.max_positions,
        initializer_range=shape.initializer_range,
        tie_word_embeddings=True,
        attention_bias=True,  # see _look_back
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation="sdpa",
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    _look_back(model, shape)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=True
    )
    return model


def _look_back(model: LlamaForCausalLM, shape: ModelShape) -> None:
    """Let head h of the first layer start out attending to the token h + 1 places back.

    Copying a name or a number takes a head that knows what stood before a token. Training finds one by itself,
    but only after most of the minutes that a warm start may take. With rotary embeddings a constant query and a
    constant key that differ by a rotation of d places give a score that peaks at distance d.
    """
    attention = model.model.layers[0].self_attn
    half = shape.head_dim // 2
    frequencies = model.model.rotary_emb.inv_freq
    with torch.no_grad():
        keys = attention.k_proj.bias.view(shape.num_heads, shape.head_dim)
        queries = attention.q_proj.bias.view(shape.num_heads, shape.head_dim)
        keys[:, :half] = shape.look_back_sharpness
        for head in range(shape.num_heads):
            angle = frequencies * (head + 1)
            queries[head, :half] = shape.look_back_sharpness * torch.cos(angle)
            queries[head, half:] = -shape.look_back_sharpness * torch.sin(angle)


def save_tutor(
    folder: Path, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, *, extra: Mapping[str, str]
) -> None:
    """Write the folder in one move: it is complete or absent, never half-written. `extra`: file name → text."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        for name, text in extra.items():
            (draft / name).write_text(text, encoding="utf-8")
        draft.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
