"""The shape of a model, read from the figures of its Hugging Face `config.json`, and what follows from it.

Counted are dense decoders of the Llama and Qwen families, with Qwen3.5's Gated DeltaNet layers and vision tower.
Norms and biases, below one part in a thousand, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eduardo.errors import UserError

Shape = tuple[int, int]  # inputs, outputs of a linear map
STATE_BYTES = 4  # vLLM keeps the recurrent state in float32


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearAttention:
    """A Gated DeltaNet layer: a state of fixed size instead of keys and values per token."""

    num_key_heads: int
    num_value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int

    @property
    def key_dim(self) -> int:
        return self.num_key_heads * self.key_head_dim

    @property
    def value_dim(self) -> int:
        return self.num_value_heads * self.value_head_dim

    def linears(self, hidden: int) -> list[Shape]:
        return [
            (hidden, 2 * self.key_dim + self.value_dim),
            (hidden, self.value_dim),  # output gate
            (hidden, self.num_value_heads),
            (hidden, self.num_value_heads),
            (self.value_dim, hidden),
        ]

    @property
    def state_bytes(self) -> int:
        """Of one sequence in one layer: the recurrent matrix of each value head, and the convolution's window."""
        matrix = self.num_value_heads * self.key_head_dim * self.value_head_dim
        window = (2 * self.key_dim + self.value_dim) * (self.conv_kernel - 1)
        return STATE_BYTES * (matrix + window)


@dataclass(frozen=True, kw_only=True)
class Architecture:
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    num_attention_layers: int  # with keys and values per token
    num_linear_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    has_output_gate: bool
    ties_embeddings: bool
    linear_attention: LinearAttention | None
    num_vision_parameters: int
    max_positions: int | None

    @property
    def num_layers(self) -> int:
        return self.num_attention_layers + self.num_linear_layers

    @cached_property
    def attention_linears(self) -> list[Shape]:
        heads = self.num_heads * self.head_dim
        queries = 2 * heads if self.has_output_gate else heads
        keys = self.num_kv_heads * self.head_dim
        return [
            (self.hidden_size, queries),
            (self.hidden_size, keys),
            (self.hidden_size, keys),
            (heads, self.hidden_size),
        ]

    @cached_property
    def mlp_linears(self) -> list[Shape]:
        return [
            (self.hidden_size, self.intermediate_size),
            (self.hidden_size, self.intermediate_size),
            (self.intermediate_size, self.hidden_size),
        ]

    @cached_property
    def layers(self) -> list[tuple[int, list[Shape]]]:
        """How many layers there are of each kind, and the linear maps of one."""
        kinds = [(self.num_attention_layers, [*self.attention_linears, *self.mlp_linears])]
        if self.linear_attention is not None:
            linears = self.linear_attention.linears(self.hidden_size)
            kinds.append((self.num_linear_layers, [*linears, *self.mlp_linears]))
        return kinds

    @cached_property
    def num_embedding_parameters(self) -> int:
        return self.vocab_size * self.hidden_size * (1 if self.ties_embeddings else 2)

    @cached_property
    def num_text_parameters(self) -> int:
        in_layers = sum(count * sum(i * o for i, o in linears) for count, linears in self.layers)
        return in_layers + self.num_embedding_parameters

    @property
    def num_parameters(self) -> int:
        return self.num_text_parameters + self.num_vision_parameters

    def num_lora_parameters(self, rank: int) -> int:
        """Adapters of that rank on every linear map of the decoder's layers."""
        return sum(count * rank * sum(i + o for i, o in linears) for count, linears in self.layers)

    @cached_property
    def largest_layer(self) -> int:
        """Parameters of the largest layer."""
        return max(sum(i * o for i, o in linears) for count, linears in self.layers if count)

    @cached_property
    def layer_outputs(self) -> int:
        """Activations per token inside the widest layer: the outputs of its linear maps and of its norms."""
        widest = max(sum(o for _, o in linears) for count, linears in self.layers if count)
        return widest + self.intermediate_size + 4 * self.hidden_size

    def kv_bytes_per_token(self, bytes_per_value: int) -> int:
        return self.num_attention_layers * 2 * self.num_kv_heads * self.head_dim * bytes_per_value

    @property
    def state_bytes_per_sequence(self) -> int:
        return self.num_linear_layers * self.linear_attention.state_bytes if self.linear_attention else 0


def read_architecture(figures: Mapping[str, object] | None, model_path: str) -> Architecture:
    """From the `config.json` in the model's folder, else from the recipe's figures.

    Raises UserError when neither is there, or when the model is of a kind that is not counted.
    """
    path = Path(model_path) / "config.json"
    if path.is_file():
        return from_hf_config(json.loads(path.read_text(encoding="utf-8")), source=str(path))
    if figures is None:
        raise UserError(
            f"the shape of {model_path} is not known: name a local folder in actor_rollout_ref.model.path, or put the "
            "figures of its config.json into planning.architecture (see configs/model/)"
        )
    return from_hf_config(figures, source="planning.architecture")


def from_hf_config(config: Mapping[str, Any], *, source: str) -> Architecture:
    text = {**config, **config.get("text_config", {})}
    if any("expert" in key and value for key, value in text.items()):
        raise UserError(f"{source}: memory and time of mixtures of experts are not estimated")
    try:
        num_layers, num_heads, hidden = (
            int(text[key]) for key in ("num_hidden_layers", "num_attention_heads", "hidden_size")
        )
        num_attention_layers = _num_attention_layers(text, num_layers)
        return Architecture(
            hidden_size=hidden,
            intermediate_size=int(text["intermediate_size"]),
            vocab_size=int(text["vocab_size"]),
            num_attention_layers=num_attention_layers,
            num_linear_layers=num_layers - num_attention_layers,
            num_heads=num_heads,
            num_kv_heads=int(text.get("num_key_value_heads", num_heads)),
            head_dim=int(text.get("head_dim") or hidden // num_heads),
            has_output_gate=bool(text.get("attn_output_gate", False)),
            ties_embeddings=bool(text.get("tie_word_embeddings", False)),
            linear_attention=_linear_attention(text) if num_attention_layers < num_layers else None,
            num_vision_parameters=_num_vision_parameters(config.get("vision_config")),
            max_positions=text.get("max_position_embeddings"),
        )
    except KeyError as error:
        raise UserError(f"{source} lacks {error.args[0]}, which the estimates need") from None


def _num_attention_layers(text: Mapping[str, Any], num_layers: int) -> int:
    if "layer_types" in text:
        return sum(kind != "linear_attention" for kind in text["layer_types"])
    return num_layers // int(text.get("full_attention_interval", 1))


def _linear_attention(text: Mapping[str, Any]) -> LinearAttention:
    return LinearAttention(
        num_key_heads=int(text["linear_num_key_heads"]),
        num_value_heads=int(text["linear_num_value_heads"]),
        key_head_dim=int(text["linear_key_head_dim"]),
        value_head_dim=int(text["linear_value_head_dim"]),
        conv_kernel=int(text["linear_conv_kernel_dim"]),
    )


def _num_vision_parameters(vision: Mapping[str, Any] | None) -> int:
    """verl trains the checkpoint as it is, so the tower takes memory even where no picture is ever shown."""
    if vision is None:
        return 0
    width = int(vision["hidden_size"])
    block = 4 * width**2 + 2 * width * int(vision["intermediate_size"])
    merged = width * int(vision["spatial_merge_size"]) ** 2
    merger = merged**2 + merged * int(vision["out_hidden_size"])
    patch = 3 * int(vision["temporal_patch_size"]) * int(vision["patch_size"]) ** 2 * width
    return int(vision["depth"]) * block + merger + patch + int(vision["num_position_embeddings"]) * width
