"""Small byte-level tokenizers with the chat-template families that tutors come with, written for these tests."""

from __future__ import annotations

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

_IM = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ CONTENT }}<|im_end|>\n{% endfor %}"
_IM_GENERATE = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

TEMPLATES = {
    # opens the thinking itself and keeps history as it is
    "prefilled": _IM.replace("CONTENT", "m.content")
    + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}",
    # the model may think; an empty block is put in when thinking is switched off
    "optional": _IM.replace("CONTENT", "m.content") + "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}",
    # drops earlier thinking from the history
    "rewriting": "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{{ m.content.split('</think>')[-1].lstrip('\n') }}"
    "{% else %}{{ m.content }}{% endif %}"
    "<|im_end|>\n{% endfor %}" + _IM_GENERATE,
    # header style, no thinking, no newline after the end of a turn
    "header": "<|begin|>{% for m in messages %}<|header|>{{ m.role }}<|/header|>\n\n{{ m.content | trim }}<|eot|>"
    "{% endfor %}{% if add_generation_prompt %}<|header|>assistant<|/header|>\n\n{% endif %}",
    # refuses a system role and calls the assistant `model`
    "no_system": "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}<|turn|>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}"
    "<|/turn|>\n{% endfor %}{% if add_generation_prompt %}<|turn|>model\n{% endif %}",
}
SPECIALS = ["<|end|>", "<|im_start|>", "<|im_end|>", "<|begin|>", "<|header|>", "<|/header|>", "<|eot|>"]
SPECIALS += ["<|turn|>", "<|/turn|>"]


def build_tokenizer(chat_template: str | None) -> PreTrainedTokenizerFast:
    """One id per byte, plus control tokens; the thinking tags are added tokens that are not special."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o")]
    vocab = {symbol: i for i, symbol in enumerate([*alphabet, *("".join(pair) for pair in merges)])}
    core = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(token, special=True) for token in SPECIALS])
    core.add_tokens([AddedToken("<think>"), AddedToken("</think>")])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|end|>", pad_token="<|end|>")
    tokenizer.chat_template = chat_template
    return tokenizer
