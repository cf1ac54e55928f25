"""`python -m eduardo.merge RUN`: a training checkpoint as an ordinary Hugging Face model folder."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.model_card import write_card
from eduardo.verl_adapter.checkpoints import Checkpoint, newest_complete, open_checkpoint

_EPILOG = """\
examples:
  python -m eduardo.merge runs/demo                        # newest complete checkpoint, into runs/demo/merged/step_N
  python -m eduardo.merge runs/demo --step 20 --out-dir models/ours
  python -m eduardo.merge runs/demo --evaluation runs/evaluation   # once more, with that evaluation in the model card

The folder holds weights, tokenizer and chat template; vLLM and transformers load it. The template's defaults are the
run's data.apply_chat_template_kwargs, so that whoever renders a chat with it renders it as in training. A checkpoint of
one rank keeps the precision it was saved in; one of several ranks is put together by verl's own merger, in bfloat16.
README.md in it is a model card from the run's own files; merging again keeps the weights and renews the card.
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.merge",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="run folder (it holds checkpoints/)")
    parser.add_argument("--step", type=int, help="which checkpoint; the newest complete one unless given")
    parser.add_argument(
        "--out-dir", type=Path, help="where to write the model; RUN/merged/step_N unless given"
    )
    parser.add_argument(
        "--evaluation",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="output folder of `eduardo evaluate` whose figures go into the card (RUN/evaluation always does)",
    )
    arguments = parser.parse_args(argv)
    print(
        merge(arguments.run, step=arguments.step, out_dir=arguments.out_dir, evaluations=arguments.evaluation)
    )
    return 0


def merge(
    run: Path, *, step: int | None = None, out_dir: Path | None = None, evaluations: Sequence[Path] = ()
) -> Path:
    """Merge one checkpoint of `run` and return the model folder; one that is already there gets a new card only.

    The folder is complete or absent. Raises UserError when the run has no such checkpoint, or an evaluation no report.
    """
    reports = [
        *([run / "evaluation"] if (run / "evaluation" / "report.json").is_file() else []),
        *evaluations,
    ]
    missing = [folder for folder in evaluations if not (folder / "report.json").is_file()]
    if missing:
        raise UserError(
            f"--evaluation {missing[0]}: no report.json there; name an output folder of `eduardo evaluate`"
        )
    checkpoint = find_checkpoint(run, step)
    target = out_dir or run / "merged" / f"step_{checkpoint.step}"
    template_kwargs = _template_kwargs(run)
    if (target / "config.json").is_file():
        set_template_defaults(target, template_kwargs)
        _write_card(run, target, checkpoint, reports)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        write_model(checkpoint.path / "actor", draft, template_kwargs=template_kwargs)
        draft.rename(target)
        _write_card(run, target, checkpoint, reports)
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def model_folder(path: str) -> str:
    """A run folder stands for its newest checkpoint, merged; any other name for itself. Raises UserError."""
    return str(merge(Path(path))) if (Path(path) / "checkpoints").is_dir() else path


def _write_card(run: Path, target: Path, checkpoint: Checkpoint, evaluations: Sequence[Path]) -> None:
    """A model without a card is still a model."""
    try:
        write_card(run, target, step=checkpoint.step, evaluations=evaluations)
    except UserError as error:
        print(f"no model card: {error}", file=sys.stderr)


def find_checkpoint(run: Path, step: int | None) -> Checkpoint:
    """The checkpoint of `step`, or the newest complete one. Raises UserError."""
    root = run / "checkpoints"
    if step is not None:
        return open_checkpoint(root / f"global_step_{step}")
    found = newest_complete(root, report=lambda message: print(message, file=sys.stderr))
    if found is None:
        raise UserError(f"{root} holds no complete checkpoint")
    return found


def write_model(actor: Path, target: Path, *, template_kwargs: Mapping[str, object]) -> None:
    """The model in a checkpoint's folder of shards, as a Hugging Face folder. Raises UserError.

    `template_kwargs` become defaults of its chat template, as `set_template_defaults` writes them.
    """
    if (actor / "model_world_size_1_rank_0.pt").is_file():
        _write_single_rank(actor, target)
    else:
        _merge_ranks(actor, target)
    set_template_defaults(target, template_kwargs)


def set_template_defaults(folder: Path, template_kwargs: Mapping[str, object]) -> None:
    """Have the chat template of a model folder set what it was rendered with in training, unless a caller does.

    Every server and library then renders what the policy learned from. Doing it again changes nothing.
    """
    if not template_kwargs:
        return
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    defaults = "".join(
        f"{{% if {name} is not defined %}}{{% set {name} = {value!r} %}}{{% endif %}}"
        for name, value in template_kwargs.items()
    )
    if not tokenizer.chat_template.startswith(defaults):
        tokenizer.chat_template = defaults + tokenizer.chat_template
        tokenizer.save_pretrained(folder)


def _template_kwargs(run: Path) -> dict[str, object]:
    """Of the run's training. Raises UserError when its configuration does not tell."""
    file = run / "config.yaml"
    try:
        config: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
        return dict(config["data"]["apply_chat_template_kwargs"])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise UserError(
            f"{file} does not tell how the tutor's chats were rendered in training "
            f"(data.apply_chat_template_kwargs): {type(error).__name__}: {error}"
        ) from None


def _merge_ranks(actor: Path, target: Path) -> None:
    command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", "fsdp"]
    command += ["--local_dir", str(actor), "--target_dir", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise UserError(f"verl's model merger failed on {actor}: {last}")


def _write_single_rank(actor: Path, target: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    # Sharded tensors need verl's device mesh to load; they were written by our own run.
    state = torch.load(actor / "model_world_size_1_rank_0.pt", map_location="cpu", weights_only=False)
    weights = {name: getattr(tensor, "_local_tensor", tensor) for name, tensor in state.items()}
    folder = actor / "huggingface"
    dtype = next(iter(weights.values())).dtype
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=dtype)
    model.load_state_dict(weights)
    if (folder / "generation_config.json").is_file():
        model.generation_config = GenerationConfig.from_pretrained(folder)
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(folder).save_pretrained(target)


if __name__ == "__main__":
    raise SystemExit(run_main(main))
