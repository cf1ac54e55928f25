"""How variants are written and checked. Values live in `configs/create_transfer_dataset.yaml`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from eduardo.json_reply import StructuredOutput
from eduardo.settings import Count, Settings, Share, Temperature


class RewriteSettings(Settings):
    extra_rounds: Annotated[int, Field(ge=0)]  # further tries, with feedback, after the first
    keep_closest: (
        bool  # of the variants that are sound but of another difficulty, when no round brought a better one
    )
    temperature: Temperature
    max_tokens: Count
    structured_output: StructuredOutput


class BlindSolveSettings(Settings):
    """The rewriter solves its own variant without seeing the stated answer."""

    num_samples: Annotated[int, Field(ge=1, le=255)]
    temperature: Temperature
    max_tokens: Count

    @model_validator(mode="after")
    def _majority_exists(self) -> BlindSolveSettings:
        if self.num_samples % 2 == 0:
            raise ValueError("num_samples must be odd, so that a strict majority always exists")
        if self.num_samples > 1 and self.temperature == 0:
            raise ValueError(
                "several samples at temperature 0 are one sample: raise it or set num_samples to 1"
            )
        return self


class SolveRateSettings(Settings):
    """How the student's cold solve rates are measured, and which a variant may have."""

    num_samples: Count
    min_graded: Count
    temperature: Temperature
    max_tokens: Count
    max_variant_rate: Share
    max_rate_gap: Share  # largest distance between the rates of source and variant

    @model_validator(mode="after")
    def _enough_samples(self) -> SolveRateSettings:
        if self.min_graded > self.num_samples:
            raise ValueError("min_graded is above num_samples: no rate would ever count")
        return self


class NearCopySettings(Settings):
    similarity: Annotated[
        float, Field(ge=0.2, le=1)
    ]  # share of common wording; with the same numbers a near-copy


class GenerationSettings(Settings):
    seed: Annotated[int, Field(ge=0)]
    variants_per_problem: Count
    rewrite: RewriteSettings
    blind_solve: BlindSolveSettings
    solve_rate: SolveRateSettings
    near_copies: NearCopySettings
