"""`python -m eduardo.classroom`: serve the classroom, write its starter problems, warm up its tutor."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from eduardo.classroom.faults import FaultPlan, parse_rates
from eduardo.classroom.serve import listen
from eduardo.classroom.serve import serve as serve_forever
from eduardo.classroom.server import ClassroomServer, ServerSettings
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.progress import TaskProgress

app = typer.Typer(
    name="python -m eduardo.classroom",
    help="The embedded classroom: a simulation with which the whole system runs on two CPU cores.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs --api-key-env.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free port.", min=0, max=65535)] = 8100,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the bearer key.")
    ] = None,
    max_model_len: Annotated[
        int, typer.Option(help="Context length that is reported and enforced, in tokens.", min=64)
    ] = 32768,
    fault: Annotated[list[str] | None, typer.Option(help="KIND=RATE, may be repeated.")] = None,
    fault_model: Annotated[
        list[str] | None, typer.Option(help="Only for this served model; may be repeated.")
    ] = None,
    fault_seed: Annotated[int, typer.Option(help="Which requests fail.")] = 0,
    slow_s: Annotated[float, typer.Option(help="Delay of a slow answer in seconds.", min=0)] = 5.0,
    admin: Annotated[
        bool, typer.Option("--admin", help="Let clients on this machine set faults at /admin/faults.")
    ] = False,
    parent_pid: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve `simulated-student`, `simulated-judge` and `simulated-rewriter` behind one OpenAI-compatible endpoint.

    Examples:

    * `python -m eduardo.classroom serve`
    * `python -m eduardo.classroom serve --port 0 --fault drop=0.05 --fault http_500=0.05 --fault-seed 7`
    * `CLASSROOM_KEY=secret python -m eduardo.classroom serve --host 0.0.0.0 --api-key-env CLASSROOM_KEY`

    Kinds of fault: slow, drop, half_body, http_429, http_500, garbage, empty, blank.
    """
    from eduardo.classroom.preferences.brains import with_lessons
    from eduardo.classroom.served import served_brains

    try:
        settings = ServerSettings(
            max_model_len=max_model_len, api_key=_api_key(host, api_key_env), admin=admin
        )
        rates = parse_rates(fault or [])
        plan = FaultPlan(rates=rates, models=tuple(fault_model or ()), seed=fault_seed, slow_s=slow_s)
        server = ClassroomServer(with_lessons(served_brains()), settings, plan)
        listener = listen(host, port)
    except (UserError, ValueError) as error:
        if parent_pid is not None:
            _announce({"error": str(error)})
            raise typer.Exit(2) from None
        raise UserError(str(error)) from None
    with listener:
        asyncio.run(
            serve_forever(
                server, listener, parent_pid=parent_pid, announce=lambda url: _announce({"base_url": url})
            )
        )


@app.command()
def starter(
    out_dir: Annotated[Path, typer.Option(help="Folder for train.jsonl and test.jsonl.")],
    num_train: Annotated[int | None, typer.Option(help="Problem pairs to train on.", min=1)] = None,
    num_test: Annotated[
        int | None, typer.Option(help="Pairs of templates that are not in train.jsonl.", min=1)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same files.")] = None,
) -> None:
    """Write the starter problems: near-transfer pairs in the published columns, with measured solve rates.

    What is not given is as in configs/starter.yaml: the set that `process_dataset` takes when no data set is named.

    Example: `python -m eduardo.classroom starter --out-dir data/starter_source --num-train 60 --num-test 20`
    """
    from eduardo.classroom.starter import starter_settings, write_starter

    given = {"num_train": num_train, "num_test": num_test, "seed": seed}
    settings = starter_settings(**{key: value for key, value in given.items() if value is not None})
    with TaskProgress() as progress:
        task = progress.add_task("solve rates", total=settings.num_train + settings.num_test)
        counts = write_starter(
            out_dir, settings, on_progress=lambda done: progress.update(task, completed=done)
        )
    typer.echo(
        f"{out_dir}: " + ", ".join(f"{count} pairs in {split}.jsonl" for split, count in counts.items())
    )


@app.command("warm-start")
def warm_start(
    out_dir: Annotated[Path, typer.Option(help="Folder of the finished tutor.")] = Path("models/tiny"),
    settings: Annotated[
        Path | None, typer.Option(help="Other settings than configs/warm_start.yaml.")
    ] = None,
    threads: Annotated[int, typer.Option(help="CPU threads; the weights depend on their number.", min=1)] = 2,
) -> None:
    """Make the tiny tutor: a few minutes of supervised training on dialogues of good and bad scripted tutors.

    Nothing is done when the folder holds the result of the same settings already.

    Example: `python -m eduardo.classroom warm-start --out-dir models/tiny`
    """
    import torch

    from eduardo.classroom.tiny_tutor import warm_start as making
    from eduardo.resources import configs_dir
    from eduardo.settings import read_yaml

    torch.set_num_threads(threads)
    chosen = read_yaml(settings or configs_dir() / "warm_start.yaml", making.WarmStartSettings)
    with TaskProgress() as progress:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: int, total: int, loss: float | None) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            text = stage if loss is None else f"{stage} (loss {loss:.2f})"
            progress.update(tasks[stage], completed=done, description=text)

        is_new = making.warm_start(out_dir, chosen, making.shipped_recipe(), show)
    typer.echo(f"{out_dir}: {'written' if is_new else 'up to date'}")


def _api_key(host: str, variable: str | None) -> str | None:
    if variable is not None:
        key = os.environ.get(variable, "")
        if not key:
            raise UserError(f"--api-key-env: the environment variable {variable} is not set")
        return key
    if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
        raise UserError(f"--host {host} opens the server to the network: give it a key with --api-key-env")
    return None


def _announce(fact: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status. UserError passes through."""
    try:
        app(args=argv, prog_name="python -m eduardo.classroom")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
