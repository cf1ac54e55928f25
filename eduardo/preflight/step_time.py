"""How long a step would take, from the speed that the servers showed."""

from __future__ import annotations

from eduardo.planning import Workload, estimate_workload
from eduardo.preflight.findings import CannotCheck, Finding, Subject, passed, skipped
from eduardo.preflight.memory import planned_run
from eduardo.preflight.probes import Rate, Speed

NAME = "step time"


def check_step_time(subject: Subject, speed: Speed | None) -> Finding:
    """Student and judge as measured, the policy from the stated throughputs of planning.*."""
    if speed is None:
        return skipped(NAME, "the servers' speed is not known")
    config, work = subject.config, _workload(subject)
    servers_s = classroom_seconds(work, speed)
    text = (
        f"about {servers_s:.0f} s per step of {work.num_dialogues} dialogues for student and judge, "
        "from the calls above"
    )
    if config.trainer.device == "cpu":
        return passed(NAME, f"{text}; the policy comes on top")
    try:
        cost = planned_run(subject).cost()
    except CannotCheck:
        return passed(NAME, f"{text}; the policy comes on top")
    policy_s = cost.rollout_s + cost.update_s + cost.overhead_s
    return passed(
        NAME, f"{text}; the policy about {policy_s:.0f} s more, from planning.throughput (not measured)"
    )


def at_least(subject: Subject, *, num_calls: int, elapsed_s: float) -> str:
    """What a step takes when so many calls were not done in `elapsed_s`."""
    work = _workload(subject)
    num_in_step = work.num_student_replies + work.num_post_tests + work.num_judge_requests
    return (
        f"a step of {work.num_dialogues} dialogues makes about {num_in_step:.0f} calls, which take more than about "
        f"{num_in_step * elapsed_s / num_calls:.0f} s at this speed"
    )


def _workload(subject: Subject) -> Workload:
    settings, config = subject.settings, subject.config
    num_dialogues = int(config.data.train_batch_size) * int(config.actor_rollout_ref.rollout.n)
    return estimate_workload(settings.recipe, settings.planning.expected, num_dialogues=num_dialogues)


def classroom_seconds(work: Workload, speed: Speed) -> float:
    """No less than one dialogue takes from its first turn to its test, no less than the busier server needs."""
    student_s = _busy_s(work.num_student_replies, speed.reply) + _busy_s(work.num_post_tests, speed.test)
    judge_s = _busy_s(work.num_judge_requests, speed.vote)
    replies_each = work.num_student_replies / work.num_dialogues
    one_dialogue_s = replies_each * speed.reply.alone_s + speed.vote.alone_s + speed.test.alone_s
    return max(one_dialogue_s, student_s, judge_s)


def _busy_s(num_calls: float, rate: Rate) -> float:
    return num_calls * rate.seconds_per_call
