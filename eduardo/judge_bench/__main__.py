"""`python -m eduardo.judge_bench`: how often a judge is right, agrees with itself, and can be talked round."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from rich.console import Console

from eduardo.classroom.launch import running_classroom
from eduardo.console import run_main
from eduardo.errors import EndpointUnavailable
from eduardo.files import write_whole
from eduardo.judge import Judge
from eduardo.judge_bench import figures, report
from eduardo.judge_bench.bench import Judged, judge_all
from eduardo.judge_bench.cases import some_cases
from eduardo.judge_bench.settings import JudgeBenchSettings, judge_bench_settings
from eduardo.llm import close_shared_clients, shared_client
from eduardo.progress import TaskProgress

_EPILOG = """\
examples:
  python -m eduardo.judge_bench
  python -m eduardo.judge_bench --judge https://host/v1#some-model classroom.judge.api_key_env=KEY --out judge.json
  python -m eduardo.judge_bench --judge smollm2 recipe=embedded num_transcripts=24

--judge is URL#MODEL of any OpenAI-compatible endpoint, or the name of a classroom in configs/classroom, whose server is
started and stopped by the bench. A URL is asked as the judge of classroom=vllm, with thinking off; add classroom=openai
for a service that refuses unknown fields. Every other argument overrides a key of configs/judge_bench.yaml.
The exit status is 0 whatever the judge says, and 1 when the endpoint fails.
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.judge_bench",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--judge", default="simulated", metavar="URL#MODEL|CLASSROOM", help="default: %(default)s"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write everything, votes included")
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="settings of configs/judge_bench.yaml"
    )
    arguments = parser.parse_intermixed_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    settings = judge_bench_settings(arguments.judge, arguments.overrides)
    console = Console()
    with running_classroom(settings.classroom, log_dir=Path(settings.log_dir), roles=["judge"]) as classroom:
        running = settings.model_copy(update={"classroom": classroom})
        results = asyncio.run(_judge(running, console))
    _tell(results, running, console, arguments.out)
    owed = [fault for fault in figures.lost_vote_faults(results) if fault.startswith(figures.ENDPOINT_FAULT)]
    if owed:
        raise EndpointUnavailable(
            f"the judge's endpoint failed, so the figures are not of the judge: {owed[0]}"
        )
    return 0


async def _judge(settings: JudgeBenchSettings, console: Console) -> list[Judged]:
    client = shared_client(settings.classroom.judge)
    cases = some_cases(settings.num_transcripts)
    try:
        await client.check(config_key="classroom.judge")
        with TaskProgress(console) as progress:
            task = progress.add_task("transcripts", total=len(cases))
            return await judge_all(
                cases,
                Judge(client, settings.recipe.judge),
                seed=settings.seed,
                max_at_once=settings.max_transcripts_at_once,
                progress=lambda: progress.advance(task),
            )
    finally:
        await close_shared_clients()


def _tell(results: list[Judged], settings: JudgeBenchSettings, console: Console, out: Path | None) -> None:
    found, odd = figures.all_figures(results), figures.disagreements(results)
    endpoint = settings.classroom.judge
    console.print(
        f"judge {endpoint.model} at {endpoint.base_url}, {len(results)} transcripts", highlight=False
    )
    for table in (
        report.label_table(found),
        report.injection_table(found),
        report.votes_table(found),
        report.kinds_table(results),
        report.disagreements_table(odd),
    ):
        console.print(table)
    for fault, number in figures.lost_vote_faults(results).most_common():
        console.print(f"{number} lost: {fault}", highlight=False)
    if out is not None:
        about: dict[str, object] = {
            "judge": endpoint.model,
            "base_url": endpoint.base_url,
            "settings": settings.recipe.judge.model_dump(),
            "seed": settings.seed,
        }
        write_whole(out, report.to_json(results, found, odd, about))


if __name__ == "__main__":
    sys.exit(run_main(main))
