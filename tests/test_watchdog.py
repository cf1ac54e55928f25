"""A run that stops moving is ended, with what it was doing; one that moves is left alone."""

import time

from eduardo.verl_adapter.watchdog import Watchdog


def watched(timeout_s):
    stalls = []
    return Watchdog(timeout_s, stalls.append), stalls


def test_a_stall_is_reported_once_with_what_was_under_way():
    watchdog, stalls = watched(0.2)
    watchdog.beat("the actor was updated")
    time.sleep(0.8)
    assert stalls == ["nothing moved for 0 s (run.stall_timeout_s) while the actor was updated"]


def test_beats_keep_it_quiet():
    watchdog, stalls = watched(0.5)
    for _ in range(8):
        watchdog.beat("dialogues were held")
        time.sleep(0.1)
    watchdog.stop()
    assert stalls == []


def test_it_waits_for_the_first_beat():
    _, stalls = watched(0.05)
    time.sleep(0.2)
    assert stalls == []


def test_it_can_be_called_off():
    watchdog, stalls = watched(0.1)
    watchdog.beat("weights went to vLLM")
    watchdog.stop()
    time.sleep(0.3)
    assert stalls == []
