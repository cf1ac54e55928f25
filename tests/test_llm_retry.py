"""When to try again: the plan on a clock that the test moves, and `Retry-After` headers."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from llm_servers import DEFAULTS, MODEL

from eduardo.llm.faults import Fault, FaultKind
from eduardo.llm.retry import Outage, RetryPlan, parse_retry_after
from eduardo.settings import EndpointSettings

SHIPPED = EndpointSettings(base_url="http://127.0.0.1:8001/v1", model=MODEL, **DEFAULTS)
CLASSROOMS = Path(__file__).parents[1] / "configs" / "classroom"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def fault(kind: FaultKind, retry_after_s: float | None = None) -> Fault:
    return Fault(kind=kind, detail="scripted", retry_after_s=retry_after_s)


def time_of_success(kind: FaultKind, *, down_s: float, settings: EndpointSettings = SHIPPED) -> float | None:
    """Seconds until a call gets through to a server that is down for `down_s`; None when it gives up."""
    clock = Clock()
    outage = Outage(clock)
    plan = RetryPlan(settings, outage, clock=clock)
    while clock.now_s < down_s:
        outage.note(fault(kind))
        delay_s = plan.next_delay_s(fault(kind))
        if delay_s is None:
            return None
        clock.now_s += delay_s
    return clock.now_s


def endpoints_of_classrooms() -> dict[str, EndpointSettings]:
    """Student and judge of every shipped classroom."""
    address = {"base_url": SHIPPED.base_url, "model": MODEL}
    return {
        f"{path.stem} {role}": EndpointSettings(**{**DEFAULTS, **values[role], **address})
        for path in sorted(CLASSROOMS.glob("*.yaml"))
        for values in [yaml.safe_load(path.read_text())]
        for role in ("student", "judge")
    }


@pytest.mark.parametrize("kind", [FaultKind.UNREACHABLE, FaultKind.SERVER_ERROR, FaultKind.DROPPED])
@pytest.mark.parametrize(("name", "settings"), endpoints_of_classrooms().items())
def test_k01_every_shipped_classroom_survives_60_s_without_a_server(
    name: str, settings: EndpointSettings, kind: FaultKind
) -> None:
    for seed in range(50):
        random.seed(seed)
        time_s = time_of_success(kind, down_s=60.0, settings=settings)
        assert time_s is not None, name
        assert time_s < 95.0


def test_a_server_that_refuses_connections_is_found_within_5_s_after_its_return() -> None:
    time_s = time_of_success(FaultKind.UNREACHABLE, down_s=200.0)

    assert time_s is not None
    assert time_s < 205.0


def test_the_shipped_settings_retry_after_a_hang() -> None:
    clock = Clock()
    plan = RetryPlan(SHIPPED, Outage(clock), clock=clock)
    clock.now_s = SHIPPED.first_byte_timeout_s

    assert plan.next_delay_s(fault(FaultKind.TIMED_OUT)) is not None


@pytest.mark.parametrize("kind", [kind for kind in FaultKind if kind is not FaultKind.REJECTED])
def test_no_retry_starts_after_the_budget(kind: FaultKind) -> None:
    settings = SHIPPED.model_copy(update={"max_retries": 10_000})
    for budget_s in (0.3, 20.0, 360.0):
        clock = Clock()
        plan = RetryPlan(settings, Outage(clock), budget_s=budget_s, clock=clock)
        while (delay_s := plan.next_delay_s(fault(kind))) is not None:
            clock.now_s += delay_s
            assert clock.now_s <= budget_s
        assert clock.now_s == pytest.approx(budget_s), "the last try is at the end of the budget"


def test_a_call_that_comes_late_into_an_outage_does_not_wait_again() -> None:
    clock = Clock()
    outage = Outage(clock)
    outage.note(fault(FaultKind.UNREACHABLE))
    clock.now_s = SHIPPED.retry_budget_s + 1
    outage.note(fault(FaultKind.UNREACHABLE))

    assert RetryPlan(SHIPPED, outage, clock=clock).next_delay_s(fault(FaultKind.UNREACHABLE)) is None


def test_any_contact_ends_an_outage() -> None:
    clock = Clock()
    outage = Outage(clock)
    outage.note(fault(FaultKind.UNREACHABLE))
    clock.now_s = 100.0
    outage.note(fault(FaultKind.SERVER_ERROR))

    assert outage.elapsed_s == 0.0


def test_a_rejection_is_never_retried() -> None:
    assert RetryPlan(SHIPPED, Outage()).next_delay_s(fault(FaultKind.REJECTED)) is None


@given(asked_s=st.floats(0.001, 1e6))
def test_the_server_may_ask_for_a_pause_up_to_the_cap(asked_s: float) -> None:
    delay_s = RetryPlan(SHIPPED, Outage()).next_delay_s(fault(FaultKind.THROTTLED, asked_s))

    capped_s = min(asked_s, SHIPPED.retry_after_cap_s)
    assert delay_s is not None
    assert capped_s <= delay_s <= 1.1 * capped_s


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        (" 0.5 ", 0.5),
        ("-3", 0.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("Sun, 99 Mar 2026 12:00:30 GMT", None),
        ("Sun, 01 Mar 99999999 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, now=NOW) == seconds


def test_a_retry_after_date_counts_from_now() -> None:
    in_a_minute = datetime.now(UTC) + timedelta(seconds=60)

    assert parse_retry_after(in_a_minute.strftime("%a, %d %b %Y %H:%M:%S GMT")) == pytest.approx(60, abs=2)


@given(st.text(max_size=60))
def test_no_header_breaks_the_client(header: str) -> None:
    seconds = parse_retry_after(header)
    assert seconds is None or seconds >= 0
