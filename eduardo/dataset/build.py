"""Near-transfer pairs to the three Parquet files, with a manifest and a report of every row left out."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import orjson

import eduardo
from eduardo.dataset.checks import PairSet, SameAnswer, read_pairs
from eduardo.dataset.columns import KeyCheck, SourcedPair
from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.output_folder import output_folder
from eduardo.dataset.rows import to_row, write_rows
from eduardo.dataset.selection import Selection, SelectionSettings, select
from eduardo.dataset.sources import PairSource
from eduardo.errors import UserError

MANIFEST_VERSION = 1
REJECTS = "rejects.jsonl"
_PACKAGES = ("datasketch", "orjson", "pyarrow", "xxhash", "math-verify")
_HINTS = {
    Rule.RATE_BAND: "widen the band with --solve-rate-min and --solve-rate-max",
    Rule.FEW_GRADED: "lower --min-graded",
    Rule.NEAR_TEST: "the train split repeats the test split; use another one, or raise --similarity",
    Rule.NEAR_VAL: "lower --num-test",
    Rule.NO_VARIANT: "the data needs transfer_problem and transfer_answer",
    Rule.NO_RATE: "the data needs both solve rates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    selection: SelectionSettings
    prompt_style: str
    end_tag: str
    strict: bool  # faults of the data stop the build


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    num_rows: dict[str, int]  # by file
    num_read: dict[str, int]  # by split of the source
    dropped: dict[str, list[Dropped]]  # by split of the source

    def counts(self, split: str) -> dict[Rule, int]:
        """Rows left out of `split` by rule, in the order in which the rules apply."""
        counted = Counter(dropped.rule for dropped in self.dropped[split])
        return {rule: counted[rule] for rule in Rule if counted[rule]}


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
        _refuse_faults([dropped for split in splits.values() for dropped in split.dropped])
    selection = select(splits["train"].pairs, splits["test"].pairs, settings.selection)
    files = {"train": selection.train, "val": selection.val, "test": selection.test}
    report = BuildReport(
        num_rows={name: len(pairs) for name, pairs in files.items()},
        num_read={name: len(split.pairs) + len(split.dropped) for name, split in splits.items()},
        dropped=_all_dropped(splits, selection),
    )
    _refuse_empty(report, settings.selection)
    with output_folder(out_dir) as staging:
        for name, pairs in files.items():
            write_rows(staging.path(f"{name}.parquet"), _rows(pairs, name, settings))
        staging.path(REJECTS).write_bytes(b"".join(_reject_lines(report)))
        staging.write_manifest(_manifest(source, settings, report))
    return report


def _all_dropped(splits: dict[str, PairSet], selection: Selection) -> dict[str, list[Dropped]]:
    later = {"train": selection.dropped_train, "test": selection.dropped_test}
    return {
        name: sorted(split.dropped + later[name], key=lambda dropped: (dropped.where.file, dropped.where.row))
        for name, split in splits.items()
    }


def _refuse_faults(dropped: Sequence[Dropped]) -> None:
    faults = [one for one in dropped if one.rule.is_fault]
    if faults:
        shown = "; ".join(map(str, faults[:3])) + (f"; and {len(faults) - 3} more" if len(faults) > 3 else "")
        raise UserError(
            f"--strict: {len(faults)} faulty rows: {shown}; correct them, or run without --strict"
        )


def _refuse_empty(report: BuildReport, settings: SelectionSettings) -> None:
    for name, split in (("test", "test"), ("val", "train"), ("train", "train")):
        if report.num_rows[name]:
            continue
        if name == "train" and report.num_rows["val"]:
            raise UserError(
                f"--num-test {settings.num_val} takes all rows left for training and validation; lower it"
            )
        counts = report.counts(split)
        eaten = ", ".join(f"{rule.value} {count}" for rule, count in counts.items())
        hint = _HINTS.get(
            max(counts, key=lambda rule: counts[rule]), "rerun with --strict to see the first rows"
        )
        if name == "test":
            hint = hint.replace("--solve-rate", "--holdout-solve-rate")
        raise UserError(
            f"no rows are left for {name}.parquet: {report.num_read[split]} read from the {split} split, "
            f"all dropped ({eaten}); {hint}"
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


def _reject_lines(report: BuildReport) -> Iterator[bytes]:
    for split, dropped in report.dropped.items():
        for one in dropped:
            line = {
                "split": split,
                "file": one.where.file,
                "row": one.where.row,
                "line": one.where.line,
                "rule": one.rule.value,
                "fault": one.rule.is_fault,
                "reason": one.reason,
            }
            yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _manifest(source: PairSource, settings: BuildSettings, report: BuildReport) -> dict[str, object]:
    return {
        "version": MANIFEST_VERSION,
        "dataset": "near_transfer",
        "input": source.provenance(),
        "settings": asdict(settings),
        "num_read": report.num_read,
        "num_rows": report.num_rows,
        "num_dropped": {
            split: {rule.value: count for rule, count in report.counts(split).items()}
            for split in report.dropped
        },
        "packages": package_versions(_PACKAGES),
    }


def package_versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of what can change the bytes of the output."""
    return {
        "python": platform.python_version(),
        "eduardo": eduardo.__version__,
        **{name: metadata.version(name) for name in names},
    }
