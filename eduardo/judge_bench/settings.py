"""Which judge is measured, and how it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from eduardo.config import ClassroomSettings, check_model, load_settings
from eduardo.errors import UserError
from eduardo.resources import configs_dir
from eduardo.settings import Count, RecipeSettings, Settings

CONFIG_NAME = "judge_bench"


class JudgeBenchSettings(Settings):
    recipe: RecipeSettings
    classroom: ClassroomSettings
    seed: Annotated[int, Field(ge=0)]
    num_transcripts: Count | None  # of `cases.some_cases`
    max_transcripts_at_once: Count
    log_dir: Annotated[str, Field(min_length=1)]


def judge_bench_settings(judge: str, overrides: Sequence[str]) -> JudgeBenchSettings:
    """configs/judge_bench.yaml with the judge and further overrides.

    `judge` is `URL#MODEL`, asked as the judge of classroom=vllm, or the name of a classroom in configs/classroom,
    whose server is then started and stopped by the bench. Raises UserError with the key that is wrong.
    """
    chosen = _endpoint_overrides(judge) if "://" in judge else [f"classroom={_classroom(judge)}"]
    settings = load_settings(
        JudgeBenchSettings, [*chosen, *overrides], config_name=CONFIG_NAME, allow_missing=True
    )
    check_model(settings.classroom.judge, config_key="classroom.judge")
    return settings


def _endpoint_overrides(judge: str) -> list[str]:
    url, _, model = judge.partition("#")
    if not model:
        raise UserError(f"--judge {judge}: name the served model after a hash, as in {url}#MODEL")
    return [
        "classroom=vllm",  # as a served judge is asked in training, without thinking
        "classroom.server.kind=none",
        f"classroom.judge.base_url='{url}'",
        f"classroom.judge.model='{model}'",
    ]


def _classroom(name: str) -> str:
    known = sorted(path.stem for path in (configs_dir() / "classroom").glob("*.yaml"))
    if name not in known:
        raise UserError(f"--judge {name}: write URL#MODEL or one of {', '.join(known)}")
    return name
