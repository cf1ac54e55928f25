"""The tiny tutor's own tokenizer: byte-level BPE, one token per digit, with a chat template that opens `<think>`."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END_OF_TEXT = "<|endoftext|>"
START_OF_TURN = "<|im_start|>"
END_OF_TURN = "<|im_end|>"
CONTROLS = (END_OF_TEXT, START_OF_TURN, END_OF_TURN)
THINKING_TAGS = ("<think>", "</think>")

# Every digit is a token of its own, with the space before it if there is one: numbers are copied digit by digit.
# The end tag may become one token, but must stay ordinary text.
_PIECES = r" ?<end_of_conversation>| ?\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]|\s"

# Earlier turns are shown as they were written. A turn that lost its thinking (a chat client keeps only what was
# visible) is shown with an empty one, so that every turn of the tutor has the same shape.
CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message['role'] + '\\n' -}}"
    "{%- if message['role'] == 'assistant' and '</think>' not in message['content'] -%}"
    "{{- '<think></think>' -}}"
    "{%- elif message['role'] == 'assistant' and not message['content'].startswith('<think>') -%}"
    "{{- '<think>' -}}"
    "{%- endif -%}"
    "{{- message['content'] + '<|im_end|>' + '\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n<think>' -}}{%- endif -%}"
)


def train_tokenizer(texts: Iterable[str], *, vocab_size: int) -> PreTrainedTokenizerFast:
    """Learn at most `vocab_size` tokens from `texts`; any UTF-8 text encodes and decodes without loss.

    Thinking tags are single tokens that stay in decoded text; control tokens are special.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(CONTROLS) - len(THINKING_TAGS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    bpe.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in CONTROLS])
    bpe.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in THINKING_TAGS])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END_OF_TURN,
        pad_token=END_OF_TEXT,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
