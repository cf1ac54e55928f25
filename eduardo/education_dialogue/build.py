"""Education Dialogue to Parquet: conversations are read, cleaned and written one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from eduardo.dataset.build import refuse_faults
from eduardo.dataset.complaints import Rule
from eduardo.dataset.output_folder import Staging, output_folder
from eduardo.dataset.report import MANIFEST_VERSION, REJECTS, BuildReport, package_versions
from eduardo.dataset.rows import SCHEMA, RowWriter
from eduardo.dataset.sources import PairSource
from eduardo.education_dialogue.cleaning import Cleaning
from eduardo.education_dialogue.rows import DATA_SOURCE, SFT_SCHEMA, to_rl_row, to_sft_row
from eduardo.education_dialogue.sampling import LowestRanked
from eduardo.education_dialogue.stream import ConversationStream, Sourced
from eduardo.errors import UserError

Format = Literal["sft", "rl", "both"]
_SCHEMAS = {"sft": SFT_SCHEMA, "rl": SCHEMA}
_PACKAGES = ("jinja2", "orjson", "pyarrow", "xxhash")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings:
    format: Format
    num_train: int | None  # at most; None: all
    num_val: int  # at most, taken from the train split
    num_test: int | None
    seed: int
    prompt_style: str  # of views.tutor_prompt
    end_tag: str
    strict: bool  # faults of the data stop the build


def build_education_dialogue(
    source: PairSource, out_dir: Path, settings: ConversationSettings
) -> BuildReport:
    """Read, clean and write; all files or none.

    Writes `sft_<split>.parquet` for supervised training and `<split>.parquet` for the environment, for train,
    val and test, with rejects.jsonl and manifest.json. train and val share no background. Memory grows by
    some hundred bytes a conversation. Raises UserError when the input cannot be read, when `strict` and a
    record is faulty, or when no conversation is left.
    """
    with output_folder(out_dir) as staging:
        test = ConversationStream(source, "test")
        num_rows = _write(staging, "test", _sample(test, test, settings.num_test, settings.seed), settings)
        train = ConversationStream(source, "train", not_again=test.ids)
        val: LowestRanked[Sourced] = LowestRanked(settings.num_val, settings.seed)
        others = _sample(train, _without_val(train, val), settings.num_train, settings.seed)
        num_rows = _write(staging, "train", others, settings) | num_rows
        num_rows |= _write(staging, "val", val.kept(), settings)
        report = _report(train, test, num_rows)
        if settings.strict:
            refuse_faults(train.dropped + test.dropped)
        _refuse_empty(report)
        staging.path(REJECTS).write_bytes(b"".join(report.reject_lines()))
        staging.write_manifest(
            {
                "version": MANIFEST_VERSION,
                "dataset": DATA_SOURCE,
                "input": source.provenance(),
                "settings": asdict(settings),
                **report.for_manifest(),
                "packages": package_versions(_PACKAGES),
            }
        )
    return report


def _without_val(train: ConversationStream, val: LowestRanked[Sourced]) -> Iterator[Sourced]:
    for sourced in train:
        yield from val.offer(sourced.conversation.background.key, sourced)


def _sample(
    stream: ConversationStream, items: Iterable[Sourced], wanted: int | None, seed: int
) -> Iterator[Sourced]:
    """All of `items` at once, or in the end the `wanted` ones that the seed chooses."""
    if wanted is None:
        yield from items
        return
    chosen: LowestRanked[Sourced] = LowestRanked(wanted, seed)
    for sourced in items:
        for _, where in chosen.offer(sourced.conversation.id, sourced):
            stream.drop(where, Rule.NOT_SAMPLED, f"only {wanted} rows asked for")
    yield from chosen.kept()


def _write(
    staging: Staging, split: str, items: Iterable[Sourced], settings: ConversationSettings
) -> dict[str, int]:
    """Write `items` in every format asked for, in one pass. Returns the number of rows by file."""
    prompt = {"prompt_style": settings.prompt_style, "end_tag": settings.end_tag}
    formats = ("sft", "rl") if settings.format == "both" else (settings.format,)
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(RowWriter(staging.path(_file(split, name)), _SCHEMAS[name]))
            for name in formats
        }
        for index, (conversation, _) in enumerate(items):
            if "sft" in writers:
                writers["sft"].write(to_sft_row(conversation, **prompt))
            if "rl" in writers:
                row = to_rl_row(conversation, split=split, index=index, **prompt)
                writers["rl"].write(row)
    return {_file(split, name): writer.num_rows for name, writer in writers.items()}


def _file(split: str, format_: str) -> str:
    return f"sft_{split}.parquet" if format_ == "sft" else f"{split}.parquet"


def _report(train: ConversationStream, test: ConversationStream, num_rows: dict[str, int]) -> BuildReport:
    splits = {"train": train, "test": test}
    shared = train.backgrounds.keys() & test.backgrounds.keys()
    num_conversations = sum(test.backgrounds[key] for key in shared)
    return BuildReport(
        num_read={name: split.num_read for name, split in splits.items()},
        dropped={name: split.dropped for name, split in splits.items()},
        cleaned={
            name: {change.value: split.cleaned[change] for change in Cleaning if split.cleaned[change]}
            for name, split in splits.items()
        },
        num_rows=num_rows,
        notes=[
            f"{len(shared)} of the {len(test.backgrounds)} backgrounds (topic, preferences, reactions) of the test "
            f"split occur in the train split too, in {num_conversations} of {test.backgrounds.total()} conversations"
        ],
    )


def _refuse_empty(report: BuildReport) -> None:
    for name, num_rows in report.num_rows.items():
        if num_rows or "val" in name:
            continue
        split = "test" if "test" in name else "train"
        reasons = ", ".join(f"{rule.value} {count}" for rule, count in report.counts(split).items())
        raise UserError(
            f"no conversations are left for {name}: {report.num_read[split]} read from the {split} split, "
            f"left out: {reasons or 'none'}; validation takes up to --num-test of the rest"
        )
