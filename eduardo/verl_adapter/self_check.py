"""`python -m eduardo.verl_adapter.self_check CONFIG RESULT [--offline]`: what only verl and the tokenizer can tell.

RESULT becomes a JSON list of {check, status, text}, with the statuses of the pre-flight.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from eduardo.chat_template import ChatTemplate
from eduardo.errors import UserError
from eduardo.files import write_whole
from eduardo.types import Message

Entry = dict[str, str]
_SAMPLE: list[Message] = [
    {"role": "system", "content": "You teach."},
    {"role": "user", "content": "What is 3 + 4?"},
]


def main(config_path: str, result_path: str, *, offline: bool) -> None:
    config = OmegaConf.load(config_path)
    entries = [_configuration(config), *_tokenizer_entries(config, offline=offline)]
    write_whole(Path(result_path), json.dumps(entries).encode())


def _configuration(config: Any) -> Entry:
    from eduardo.verl_adapter.verl_check import check_with_verl

    name = "verl's configuration"
    try:
        check_with_verl(config)
    except UserError as error:
        return _entry(name, "fail", str(error))
    return _entry(name, "pass", "accepted by verl's own check")


def _tokenizer_entries(config: Any, *, offline: bool) -> list[Entry]:
    """Of tokenizer and template and, where these are in order and the data is there, of the prompts."""
    name, model = "tokenizer and template", config.actor_rollout_ref.model
    path = str(model.tokenizer_path or model.path)
    try:
        tokenizer = _tokenizer(path, offline=offline, trust_remote_code=bool(model.trust_remote_code))
    except OSError as error:
        if offline:
            return [_entry(name, "skipped", f"the tokenizer of {path} is not on this machine")]
        reason = " ".join(str(error).split())[:200]
        text = f"actor_rollout_ref.model.path: no tokenizer for {path} ({reason}); name a model that is there"
        return [_entry(name, "fail", text)]
    template_kwargs = dict(config.data.apply_chat_template_kwargs)
    try:
        done = _entry(name, "pass", _probe(tokenizer, template_kwargs))
    except UserError as error:
        return [_entry(name, "fail", str(error))]
    return [done, _prompts(config, ChatTemplate(tokenizer, template_kwargs=template_kwargs))]


def _prompts(config: Any, template: ChatTemplate) -> Entry:
    import pyarrow.parquet as pq

    from eduardo.verl_adapter.prompts import check_prompts

    name, limit = "prompt lengths", int(config.recipe.dialogue.prompt_tokens)
    try:
        tables = [pq.read_table(path) for path in (*config.data.train_files, *config.data.val_files)]
        rows = [row for table in tables for row in table.to_pylist()]
        check_prompts(rows, template, limit=limit)
    except UserError as error:
        return _entry(name, "fail", str(error))
    except (OSError, ValueError, KeyError):  # the checks of the data say what is wrong with the files
        return _entry(name, "skipped", "the data cannot be read")
    return _entry(name, "pass", f"{len(rows)} prompts of at most {limit} tokens")


def _tokenizer(path: str, *, offline: bool, trust_remote_code: bool) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(path, local_files_only=offline, trust_remote_code=trust_remote_code)


def _probe(tokenizer: Any, template_kwargs: dict[str, Any]) -> str:
    """What the template does; that a prompt built piece by piece is the template's own, and that turns come back."""
    template = ChatTemplate(tokenizer, template_kwargs=template_kwargs)
    if template.report.has_system_role:
        own = tokenizer.apply_chat_template(
            _SAMPLE, tokenize=False, add_generation_prompt=True, **template_kwargs
        )
        if template.encode_prompt(_SAMPLE) != tokenizer.encode(own, add_special_tokens=False):
            raise UserError(
                f"{tokenizer.name_or_path}: token ids of a prompt differ from those of its chat template; use a fast "
                "tokenizer (tokenizer.json)"
            )
    reply = "Which numbers are added?"
    if template.decode_reply(tokenizer.encode(reply, add_special_tokens=False)).strip() != reply:
        raise UserError(f"{tokenizer.name_or_path}: a reply does not survive decoding; use a fast tokenizer")
    report = template.report
    return f"thinking {report.thinking_mode}, turns end with {report.end_of_turn}"


def _entry(check: str, status: str, text: str) -> Entry:
    return {"check": check, "status": status, "text": text}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], offline="--offline" in sys.argv[3:])
