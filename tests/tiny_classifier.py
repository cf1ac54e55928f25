"""A randomly initialised sequence classifier, small enough to be made in a test."""

from __future__ import annotations

from pathlib import Path

from template_families import TEMPLATES, build_tokenizer

TEMPLATE = TEMPLATES["optional"]


def write_classifier(folder: Path, *, num_labels: int = 1, chat_template: str | None = TEMPLATE) -> Path:
    import torch
    from transformers import Qwen2Config, Qwen2ForSequenceClassification

    torch.manual_seed(0)
    tokenizer = build_tokenizer(chat_template)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        num_labels=num_labels,
        pad_token_id=None,
    )
    model = Qwen2ForSequenceClassification(config)
    torch.nn.init.normal_(model.score.weight, std=1.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
