"""A model that `vllm serve` takes and that is there in a second: a few hundred kB of random weights."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedTokenizerFast

from eduardo.classroom.tiny_tutor.model import ModelShape, build_model
from eduardo.classroom.tiny_tutor.tokenizer import train_tokenizer

SMALL_SHAPE = ModelShape(
    num_layers=2,
    num_heads=2,
    head_dim=32,
    intermediate_size=128,
    max_positions=2048,
    initializer_range=0.05,
    look_back_sharpness=0.0,
)


def write_tiny_model(folder: Path) -> Path:
    tokenizer = train_tokenizer(["What is 2 + 3 ?", "It is 5 .", "You help a student ."] * 20, vocab_size=300)
    save_model(folder, tokenizer)
    return folder


def save_model(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    build_model(SMALL_SHAPE, tokenizer, seed=0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
