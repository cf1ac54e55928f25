"""Near-transfer pairs to the three Parquet files, with a manifest and a report of every row left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from eduardo.dataset.checks import PairSet, SameAnswer, read_pairs
from eduardo.dataset.columns import KeyCheck, SourcedPair
from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.output_folder import output_folder
from eduardo.dataset.report import MANIFEST_VERSION, REJECTS, BuildReport, package_versions
from eduardo.dataset.rows import DATA_SOURCE, to_row, write_rows
from eduardo.dataset.selection import Selection, SelectionSettings, select
from eduardo.dataset.sources import PairSource
from eduardo.errors import UserError

_PACKAGES = ("datasketch", "orjson", "pyarrow", "xxhash", "math-verify")
_HINTS = {
    Rule.RATE_BAND: "widen the band with --solve-rate-min and --solve-rate-max",
    Rule.FEW_GRADED: "lower --min-graded",
    Rule.NEAR_TEST: "the train split repeats the test split; use another one, or raise --similarity",
    Rule.NO_VARIANT: "the data needs transfer_problem and transfer_answer",
    Rule.NO_RATE: "the data needs both solve rates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    selection: SelectionSettings
    prompt_style: str
    end_tag: str
    strict: bool  # faults of the data stop the build


def build_near_transfer(
    source: PairSource,
    out_dir: Path,
    settings: BuildSettings,
    *,
    check_key: KeyCheck,
    same_answer: SameAnswer,
) -> BuildReport:
    """Read, check, select and write; all files or none.

    Writes train.parquet, val.parquet, test.parquet, rejects.jsonl and manifest.json. Raises UserError when
    the input cannot be used, when `strict` and a row is faulty, or when a file would have no rows.
    """
    splits = {
        split: read_pairs(source, split, check_key=check_key, same_answer=same_answer)
        for split in ("train", "test")
    }
    if settings.strict:
        refuse_faults([dropped for split in splits.values() for dropped in split.dropped])
    selection = select(splits["train"].pairs, splits["test"].pairs, settings.selection)
    files = {"train": selection.train, "val": selection.val, "test": selection.test}
    report = _report(splits, selection, settings.selection)
    _refuse_empty(report, settings.selection)
    with output_folder(out_dir) as staging:
        for name, pairs in files.items():
            write_rows(staging.path(f"{name}.parquet"), _rows(pairs, name, settings))
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


def refuse_faults(dropped: Sequence[Dropped]) -> None:
    """Raise UserError naming the first rows that are faulty, if there are any."""
    faults = [one for one in dropped if one.rule.is_fault]
    if faults:
        shown = "; ".join(map(str, faults[:3])) + (f"; and {len(faults) - 3} more" if len(faults) > 3 else "")
        raise UserError(
            f"--strict: {len(faults)} faulty rows: {shown}; correct them, or run without --strict"
        )


def _report(splits: dict[str, PairSet], selection: Selection, settings: SelectionSettings) -> BuildReport:
    later = {"train": selection.dropped_train, "test": selection.dropped_test}
    num_val = len(selection.val)
    wanted = settings.num_val
    return BuildReport(
        num_read={name: len(split.pairs) + len(split.dropped) for name, split in splits.items()},
        dropped={
            name: sorted(split.dropped + later[name], key=lambda one: (one.where.file, one.where.row))
            for name, split in splits.items()
        },
        num_rows={
            "train.parquet": len(selection.train),
            "val.parquet": num_val,
            "test.parquet": len(selection.test),
        },
        notes=[f"val.parquet has {num_val} rows, {wanted} were asked for"] if num_val < wanted else [],
    )


def _refuse_empty(report: BuildReport, settings: SelectionSettings) -> None:
    for name in ("test", "train"):
        if report.num_rows[f"{name}.parquet"]:
            continue
        if name == "train" and report.num_rows["val.parquet"]:
            raise UserError(
                f"--num-test {settings.num_val} takes all rows left for training and validation; lower it"
            )
        counts = report.counts(name)
        eaten = ", ".join(f"{rule.value} {count}" for rule, count in counts.items())
        main_rule = max(counts, key=lambda rule: counts[rule])
        example = next(one for one in report.dropped[name] if one.rule is main_rule)
        hint = _HINTS.get(main_rule, f"for example {example}")
        if name == "test":
            hint = hint.replace("--solve-rate", "--holdout-solve-rate")
        raise UserError(
            f"no rows are left for {name}.parquet: {report.num_read[name]} read from the {name} split, "
            f"all left out ({eaten}); {hint}"
        )


def _rows(pairs: list[SourcedPair], split: str, settings: BuildSettings) -> Iterator[dict[str, object]]:
    for index, sourced in enumerate(pairs):
        yield to_row(
            sourced.pair,
            split=split,
            index=index,
            prompt_style=settings.prompt_style,
            end_tag=settings.end_tag,
            extras=sourced.extras,
        )
