"""The README.md of a merged tutor, from the files of its run. What a file does not say is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eduardo.errors import UserError
from eduardo.files import write_whole
from eduardo.verl_adapter.journal import METRICS_FILE, read_journal

CARD = "README.md"
_SHARES = (
    "rejected_no_handover",
    "rejected_factual_correctness",
    "detector_leak",
    "ended_tutor_ended",
    "void_share",
)
# Key in metrics.jsonl after `dialogue/` or `val/` → what the card calls it.
_NUMBERS = {
    "num_dialogues": "dialogues",
    "reward_total": "reward",
    "delta": "normalized learning gain Δ, of dialogues with a post-test",
    "pre": "solve rate before",
    "post": "solve rate after",
    "rejected_no_handover": "rejected: solution handed over",
    "rejected_factual_correctness": "rejected: something false",
    "detector_leak": "answer told too early (rule-based detector)",
    "num_tutor_turns": "tutor turns",
    "tutor_visible_tokens": "visible tokens per tutor turn",
    "tutor_thinking_tokens": "thinking tokens per tutor turn",
    "ended_tutor_ended": "dialogues that the tutor ended",
    "void_share": "void dialogues (not measured)",
}
_SIMULATION = (
    "> Student and judge were the **simulated classroom**: rule-based programs. The numbers show that the training "
    "works; they say nothing about how well this tutor teaches people."
)


def write_card(run: Path, folder: Path, *, step: int, evaluations: Sequence[Path]) -> None:
    """Write or renew the card in a merged model folder. `evaluations`: folders with a report.json.

    Raises UserError when the run's own files are missing or not as this version writes them.
    """
    try:
        config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        lines = [line for line in read_journal(run / METRICS_FILE) if line["step"] <= step]
        parts = [
            *_front_matter(manifest),
            *_title(run, config, manifest, step),
            *_training(config, manifest),
            *_numbers(lines, step),
            *_evaluation_tables(evaluations, folder),
            *_use(folder, config),
            *_licence(manifest),
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{run}: its files do not tell what a model card needs ({type(error).__name__}: {error})"
        ) from None
    write_whole(folder / CARD, ("\n".join(parts) + "\n").encode())


def _front_matter(manifest: Mapping[str, Any]) -> Iterator[str]:
    base = str(manifest["model"])
    facts: dict[str, Any] = {"library_name": "transformers", "pipeline_tag": "text-generation"}
    if not Path(base).is_absolute():
        facts["base_model"] = base
    facts["license"] = _base_licence(base) or "other"
    facts["tags"] = ["tutoring", "reinforcement-learning", "eduardo"]
    yield from ("---", yaml.safe_dump(facts, sort_keys=False).rstrip(), "---", "")


def _title(run: Path, config: Mapping[str, Any], manifest: Mapping[str, Any], step: int) -> Iterator[str]:
    yield from (f"# Tutor {run.resolve().name}, step {step}", "")
    yield (
        f"A tutor for math problems: {_base_name(manifest)}, trained for {step} steps with multi-turn reinforcement "
        "learning. It talks with a student about a problem and is rewarded by how much better "
        "the student then solves a similar problem on its own."
    )
    yield ""
    if config["classroom"]["server"]["kind"] == "simulated":
        yield from (_SIMULATION, "")


def _training(config: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    actor, rollout = config["actor_rollout_ref"]["actor"], config["actor_rollout_ref"]["rollout"]
    recipe, classroom = config["recipe"], config["classroom"]
    packages = ", ".join(f"{name} {version}" for name, version in manifest["packages"].items() if version)
    facts = {
        "base model": _base_name(manifest),
        "student, judge": f"{classroom['student']['model']}, {classroom['judge']['model']}",
        "dialogues per step": f"{config['data']['train_batch_size']} problems × {rollout['n']}",
        "loss": f"{actor['policy_loss']['loss_mode']}, {config['algorithm']['adv_estimator']}, "
        f"learning rate {actor['optim']['lr']}",
        "dialogue": f"at most {recipe['dialogue']['max_tutor_turns']} tutor turns of "
        f"{recipe['dialogue']['tutor_turn_tokens']} tokens, {recipe['dialogue']['response_tokens']} in all",
        "post-test": f"{recipe['post_test']['item']} problem, tutor turns "
        f"{'hidden' if recipe['post_test']['mask_tutor'] else 'visible'}, {recipe['post_test']['attempts']} attempts",
        "gate": f"{recipe['reward']['gate']}, {recipe['judge']['votes']} votes",
        "seed": manifest["seed"],
        "code": f"eduardo at commit {manifest['git']}" if manifest["git"] else None,
        "versions": packages,
        "started": manifest["started"],
    }
    yield from ("## Training", "", "| | |", "|---|---|")
    yield from (f"| {name} | {value} |" for name, value in facts.items() if value is not None)
    for path, sha256 in manifest["data"].items():
        yield f"| data: {'/'.join(Path(path).parts[-2:])} | SHA-256 `{sha256}` |"
    yield from ("", "Every setting is in the run's config.yaml.", "")


def _numbers(lines: Sequence[Mapping[str, float]], step: int) -> Iterator[str]:
    """The step itself, and the newest validation up to it."""
    columns = [
        (f"training, step {line['step']:.0f}", "dialogue/", line) for line in lines if line["step"] == step
    ]
    validated = [line for line in lines if "val/num_dialogues" in line]
    columns += [(f"validation, step {line['step']:.0f}", "val/", line) for line in validated[-1:]]
    if not columns:
        return
    yield from ("## Numbers of the run", "")
    yield from _table(["", *(head for head, _, _ in columns)])
    for key, name in _NUMBERS.items():
        values = [line.get(prefix + key) for _, prefix, line in columns]
        if any(value is not None for value in values):
            yield f"| {name} | {' | '.join(_shown(key, value) for value in values)} |"
    yield from (
        "",
        "Means over the dialogues that each was measured on; training: the batch of that one step.",
        "",
    )


def _evaluation_tables(evaluations: Sequence[Path], folder: Path) -> Iterator[str]:
    """Figures that an evaluation measured on this very folder."""
    for evaluation in evaluations:
        report = json.loads((evaluation / "report.json").read_text(encoding="utf-8"))
        for tutor in report["tutors"]:
            if not _is_of(evaluation / tutor["tutor"] / "manifest.json", folder):
                continue
            yield f"## Held-out evaluation ({tutor['num_measured']} of {tutor['num_planned']} dialogues measured)"
            yield ""
            if tutor["invalid_because"]:
                yield from (f"**Invalid by its own limits**: {'; '.join(tutor['invalid_because'])}.", "")
            yield from _table(["figure", "value", "95 % interval"])
            for name, figure in tutor["figures"].items():
                if figure is not None:
                    yield f"| {name} | {figure['value']:.3f} | {figure['low']:.3f} to {figure['high']:.3f} |"
            yield ""


def _is_of(manifest: Path, folder: Path) -> bool:
    """Evaluations name the folder as it was written on their command line; its last three parts must be the same."""
    if not manifest.is_file():
        return False
    target = json.loads(manifest.read_text(encoding="utf-8")).get("tutor", "").rpartition("#")[0]
    return bool(target) and Path(target).absolute().parts[-3:] == folder.absolute().parts[-3:]


def _use(folder: Path, config: Mapping[str, Any]) -> Iterator[str]:
    context = config["recipe"]["dialogue"]["prompt_tokens"] + config["recipe"]["dialogue"]["response_tokens"]
    yield from ("## Use", "", "```bash")
    yield f"python -m eduardo.serve tutor {folder.name}  # or:"
    yield f"vllm serve {folder.name} --max-model-len {context} --generation-config vllm"
    yield f"python -m eduardo.chat --tutor {folder.name}  # be the student"
    yield f"python -m eduardo.evaluate environment --tutor ours={folder.name}"
    yield "```"
    yield ""
    yield (
        f"It was trained with the system prompt that the data files hold, on dialogues of up to {context} tokens. It "
        f"ends a dialogue by writing `{config['recipe']['dialogue']['end_tag']}`; students must not see its thinking."
    )
    yield ""


def _licence(manifest: Mapping[str, Any]) -> Iterator[str]:
    licence = _base_licence(str(manifest["model"]))
    stated = f" ({licence})" if licence else ""
    yield "## Licence"
    yield ""
    yield (
        f"These weights derive from {_base_name(manifest)}, whose licence{stated} applies to them. The data they were "
        "trained on has a licence of its own. The training code is under Apache-2.0."
    )


def _base_name(manifest: Mapping[str, Any]) -> str:
    """A hub name as it is; of a local path only the folder's own name."""
    base = str(manifest["model"])
    return f"`{Path(base).name if Path(base).is_absolute() else base}`"


def _base_licence(base: str) -> str | None:
    """What the base model's own folder says, where it is at hand."""
    card, manifest = Path(base) / CARD, Path(base) / "manifest.json"
    if card.is_file():
        pieces = card.read_text(encoding="utf-8", errors="replace").split("---", 2)
        front = yaml.safe_load(pieces[1]) if len(pieces) == 3 and not pieces[0].strip() else None
        return str(front["license"]) if isinstance(front, dict) and "license" in front else None
    if manifest.is_file():
        licence = json.loads(manifest.read_text(encoding="utf-8")).get("licence")
        return str(licence).lower() if licence else None
    return None


def _shown(key: str, value: float | None) -> str:
    if value is None:
        return "–"
    if key in _SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:.0f}" if key == "num_dialogues" else f"{value:.3f}"


def _table(head: Sequence[str]) -> tuple[str, str]:
    return f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"
