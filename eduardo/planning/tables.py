"""The tables of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from eduardo.planning.memory import GIB, MemoryEstimate, checkpoint_bytes
from eduardo.planning.run import PlannedRun

NODES, GROUP_SIZES, TURNS = (1, 2, 4, 8), (4, 8, 16), (6, 11, 22)


def plan_tables(run: PlannedRun, *, model_name: str) -> Iterator[str | Table]:
    """For rich's console, in the order in which they are read."""
    yield _header(run, model_name)
    yield _memory(run)
    yield _work(run)
    yield _time(run)
    yield _growth(run)


def _header(run: PlannedRun, model_name: str) -> str:
    model, layout = run.model, run.layout
    vision = (
        f", {model.num_vision_parameters / 1e9:.2f} of them a vision tower"
        if model.num_vision_parameters
        else ""
    )
    trained = f"LoRA of rank {layout.lora_rank}" if layout.lora_rank else "all trained"
    copies = f"{layout.num_replicas} cop{'y' if layout.num_replicas == 1 else 'ies'}"
    return (
        f"{model_name}: {model.num_parameters / 1e9:.2f} billion parameters{vision}; {trained}\n"
        f"{layout.num_nodes} × {layout.num_gpus // layout.num_nodes} GPUs of {run.settings.gpu.memory_gib:g} GiB: "
        f"{copies} of the policy in vLLM, {layout.dialogues_per_replica} of {layout.num_dialogues} dialogues each\n"
        f"one checkpoint: {checkpoint_bytes(model, layout) / GIB:.1f} GiB on disk\n"
    )


def _memory(run: PlannedRun) -> Table:
    memory, gpu_gib = run.memory(), run.settings.gpu.memory_gib
    table = Table(title="Memory of one GPU, GiB", title_justify="left", caption_justify="left")
    for phase in ("while the policy is updated", "while dialogues are held"):
        table.add_column(phase)
        table.add_column("", justify="right")
    for (left, left_gib), (right, right_gib) in zip(
        _update_parts(run, memory), _rollout_parts(run, memory), strict=True
    ):
        table.add_row(left, f"{left_gib:.1f}", right, "" if right_gib is None else f"{right_gib:.2f}")
    table.add_section()
    table.add_row(
        "together", _fit(memory.update, gpu_gib), "together", _fit(memory.rollout, gpu_gib), style="bold"
    )
    table.caption = f"longest dialogues that fit into one copy's cache at once: {memory.dialogues_at_once}"
    return table


def _update_parts(run: PlannedRun, memory: MemoryEstimate) -> list[tuple[str, float]]:
    return [
        ("weights, this GPU's share", memory.weights),
        ("gradients", memory.gradients),
        ("optimizer states", memory.optimizer),
        ("layers gathered in bfloat16", memory.gathered),
        (f"activations of {run.layout.micro_batch_tokens:,} tokens", memory.activations),
        ("logits", memory.logits),
        ("vLLM, if it does not sleep", memory.vllm_awake),
        ("reserve", memory.reserve),
    ]


def _rollout_parts(run: PlannedRun, memory: MemoryEstimate) -> list[tuple[str, float | None]]:
    return [
        ("trainer, what is not offloaded", memory.resident),
        (f"vLLM, {run.layout.vllm_share:.0%} of the GPU", memory.vllm_budget),
        ("  of it weights", memory.vllm_weights),
        ("  of it KV cache", memory.kv_cache),
        ("  cache of one longest dialogue", memory.kv_per_dialogue),
        ("reserve", memory.reserve),
        ("", None),
        ("", None),
    ]


def _fit(gib: float, gpu_gib: float) -> str:
    return f"{gib:.1f} of {gpu_gib:g}" if gib <= gpu_gib else f"{gib:.1f}, does not fit in {gpu_gib:g}"


def _work(run: PlannedRun) -> Table:
    table = _table("One step", ("", "expected", "at the limits"))
    for name, field in (
        ("dialogues", "num_dialogues"),
        ("tutor turns", "num_tutor_turns"),
        ("tokens that the policy samples", "sampled_tokens"),
        ("tokens of the sequences that it learns from", "sequence_tokens"),
        ("requests to the student: turns", "num_student_replies"),
        ("requests to the student: post-tests", "num_post_tests"),
        ("requests to the judge", "num_judge_requests"),
        ("tokens that the student generates", "student_tokens"),
        ("tokens that the judge generates", "judge_tokens"),
    ):
        table.add_row(
            name, *(f"{getattr(work, field):,.0f}" for work in (run.workload(), run.largest_workload()))
        )
    return table


def _time(run: PlannedRun) -> Table:
    cost = run.cost()
    table = _table("Time from the throughputs that planning.* states (not measured)", ("", ""))
    for name, seconds in (
        ("the policy samples", cost.rollout_s),
        ("the student generates", cost.student_s),
        ("the judge generates", cost.judge_s),
        ("the policy is updated", cost.update_s),
        ("overhead", cost.overhead_s),
        ("validation, its share of each step", cost.validation_s),
    ):
        table.add_row(name, f"{seconds:.0f} s")
    table.add_section()
    table.add_row("one step", f"{cost.fastest_step_s:.0f}-{cost.slowest_step_s:.0f} s")
    table.add_row(f"{cost.num_steps:,} steps", f"{_range(cost.hours)} hours")
    gpus = f"{cost.num_policy_gpus} GPUs of the policy, {cost.num_server_gpus} of the servers"
    table.add_row(gpus, f"{_range(cost.gpu_hours)} GPU-hours")
    table.caption = "lower end: tutor, student and judge always overlap; upper end: they never do"
    return table


def _growth(run: PlannedRun) -> Table:
    columns = ("", "sampled tokens", "student requests", "judge requests", "step (s)", "hours", "GPU-hours")
    table = _table("How it grows, one thing changed at a time", columns)
    for name, values, variants in (
        ("{} node(s)", NODES, run.on_nodes(NODES)),
        ("groups of {}", GROUP_SIZES, run.with_group_sizes(GROUP_SIZES)),
        ("{} tutor turns", TURNS, run.with_turns(TURNS)),
    ):
        for value, variant in zip(values, variants, strict=True):
            work, cost = variant.workload(), variant.cost()
            table.add_row(
                name.format(value),
                f"{work.sampled_tokens:,.0f}",
                f"{work.num_student_requests:,.0f}",
                f"{work.num_judge_requests:,.0f}",
                f"{cost.fastest_step_s:.0f}-{cost.slowest_step_s:.0f}",
                _range(cost.hours),
                _range(cost.gpu_hours),
            )
        table.add_section()
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _range(values: tuple[float, float]) -> str:
    low, high = values
    return f"{low:,.0f}-{high:,.0f}"
