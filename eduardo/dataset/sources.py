"""Where near-transfer pairs come from: a local folder or the Hugging Face Hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from eduardo.dataset.json_stream import read_json_records
from eduardo.dataset.location import Location, Record
from eduardo.errors import UserError
from eduardo.files import file_sha256

FILE_TYPES = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".parquet")
_BATCH_ROWS = 1024


class PairSource(Protocol):
    def records(self, split: str) -> Iterator[Record]:
        """Yield the records of `train` or `test`. Raises UserError when the split cannot be read."""

    def provenance(self) -> dict[str, object]:
        """What pins the input for the manifest; the same content gives the same value on every machine."""


@dataclass(frozen=True)
class LocalFolder:
    """A folder with one file per split, or with numbered shards as the Hub stores them."""

    path: Path
    kind: str = "folder"  # what the manifest calls it

    def records(self, split: str) -> Iterator[Record]:
        for file in self._files(split):
            yield from read_records(file)

    def provenance(self) -> dict[str, object]:
        files = [file for split in ("train", "test") for file in self._files(split)]
        return {"source": self.kind, "files": {file.name: file_sha256(file) for file in files}}

    def _files(self, split: str) -> list[Path]:
        if not self.path.is_dir():
            raise UserError(f"{self.path}: no such folder")
        shard = re.compile(rf"{split}(-\d+-of-\d+)?({'|'.join(map(re.escape, FILE_TYPES))})")
        folders = [self.path, self.path / "data"]
        found = [
            p for folder in folders if folder.is_dir() for p in folder.iterdir() if shard.fullmatch(p.name)
        ]
        if not found:
            names = ", ".join(split + suffix for suffix in FILE_TYPES)
            raise UserError(f"{self.path}: has no {split} split; expected one of {names}")
        if len({re.sub(r"\d+-of", "-of", p.name) for p in found}) > 1:
            names = ", ".join(sorted(p.name for p in found))
            raise UserError(f"{self.path}: several files for the {split} split ({names}); keep one")
        return sorted(found)


@dataclass(frozen=True)
class HubDataset:
    """A data set of the Hugging Face Hub (or any folder that `datasets` loads), pinned to one commit."""

    name: str
    revision: str | None = None
    config: str | None = None  # of a data set that has several

    def records(self, split: str) -> Iterator[Record]:
        datasets = _datasets()
        try:
            rows = datasets.load_dataset(self.name, self.config, split=split, revision=self.commit)
        # A boundary: what `datasets` raises depends on the loader, the network and its version.
        except Exception as error:
            detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UserError(
                f"cannot load split {split} of data set {self.name}: {detail}; "
                "check the name and the network, or pass --data-dir with a local copy"
            ) from error
        for row, value in enumerate(rows, start=1):
            yield Record(value, Location(f"{self.name}:{split}", row))

    def provenance(self) -> dict[str, object]:
        digest = hashlib.sha256()
        for split in ("train", "test"):
            for record in self.records(split):
                digest.update(
                    orjson.dumps(
                        record.value, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
                    )
                )
        return {"source": "hub", "name": self.name, "revision": self.commit, "sha256": digest.hexdigest()}

    @cached_property
    def commit(self) -> str | None:
        """The commit behind `revision`, asked for once; `revision` itself for a folder and in offline mode."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import OfflineModeIsEnabled

        if Path(self.name).exists():
            return self.revision
        try:
            return HfApi().dataset_info(self.name, revision=self.revision).sha
        except OfflineModeIsEnabled:
            return self.revision


def _datasets() -> ModuleType:
    """The `datasets` library: slow to import, and needed for the Hub only."""
    try:
        return import_module("datasets")
    except ModuleNotFoundError as error:
        raise UserError("--hf-dataset needs the datasets library: pip install 'eduardo[hub]'") from error


def read_records(file: Path) -> Iterator[Record]:
    """Yield the records of one JSON, JSON lines or Parquet file. Raises UserError naming file and place."""
    if file.suffix == ".parquet":
        yield from _read_parquet(file)
    else:
        yield from read_json_records(file)


def _read_parquet(file: Path) -> Iterator[Record]:
    row = 0
    try:
        for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH_ROWS):
            for value in batch.to_pylist():
                row += 1
                yield Record(value, Location(file.name, row))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        detail = str(error).splitlines()[0]
        raise UserError(
            f"{file}: cannot be read as Parquet after row {row} ({detail}); fetch it again"
        ) from error
