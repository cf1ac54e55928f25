"""What the chat client costs, against a stub server in its own process on loopback.

One training step's traffic (128 dialogues; per dialogue 10 student turns, 2 judge requests with n = 2 and one
post-test with n = 16) is compared with the naive way: the openai SDK and one request per sample, 22 of them
to score a dialogue. Then the CPU time per request is measured for up to 2,000 requests at once.

Run: python benchmarks/client.py [--full]
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import openai
import yaml
from stub_server import CHOICE_S, MODEL, REQUEST_S, running_stub

from eduardo.llm import ChatClient
from eduardo.settings import EndpointSettings
from eduardo.types import Message

NUM_DIALOGUES = 128
NUM_NAIVE_DIALOGUES = 32  # of the sample, without --full
NUM_STUDENT_TURNS = 10
NUM_ATTEMPTS = 16
NUM_JUDGE_REQUESTS = 2
NUM_VOTES_PER_REQUEST = 2
NUM_NAIVE_VOTES = 6
CONCURRENCIES = (1, 16, 128, 512, 2000)
CPU_TARGET_MS = 0.8
WALL_TARGET_TIMES = 30.0
TURN_TEXT = (
    "So each box holds twelve pencils, and we have seven boxes; what would you try next, and why? " * 4
)
OPEN_FILES = 8192
SDK_TIMEOUT_S = 600.0

Request = Callable[[list[Message], int], Awaitable[object]]  # messages, n


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    num_requests: int
    wall_s: float
    cpu_s: float

    @property
    def cpu_ms_per_request(self) -> float:
        return 1000 * self.cpu_s / self.num_requests

    def scaled(self, factor: float) -> Cost:
        return Cost(
            num_requests=round(self.num_requests * factor),
            wall_s=self.wall_s * factor,
            cpu_s=self.cpu_s * factor,
        )


def settings(base_url: str, *, max_concurrency: int) -> EndpointSettings:
    path = Path(__file__).parents[1] / "configs/endpoint/default.yaml"
    values = yaml.safe_load(path.read_text())
    return EndpointSettings(
        **values | {"base_url": base_url, "model": MODEL, "max_concurrency": max_concurrency}
    )


async def measure(work: Awaitable[object], num_requests: int) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    await work
    return Cost(num_requests=num_requests, wall_s=time.perf_counter() - wall, cpu_s=time.process_time() - cpu)


async def hold_dialogue(request: Request) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": TURN_TEXT}]
    for _ in range(NUM_STUDENT_TURNS):
        messages.append({"role": "user", "content": TURN_TEXT})
        await request(messages, 1)
        messages.append({"role": "assistant", "content": TURN_TEXT})
    return messages


async def dialogue_with_shared_requests(request: Request) -> None:
    messages = await hold_dialogue(request)
    await asyncio.gather(*(request(messages, NUM_VOTES_PER_REQUEST) for _ in range(NUM_JUDGE_REQUESTS)))
    await request(messages, NUM_ATTEMPTS)


async def dialogue_with_one_request_per_sample(request: Request) -> None:
    messages = await hold_dialogue(request)
    await asyncio.gather(*(request(messages, 1) for _ in range(NUM_NAIVE_VOTES)))
    await asyncio.gather(*(request(messages, 1) for _ in range(NUM_ATTEMPTS)))


async def run_ours(base_url: str, num_dialogues: int) -> Cost:
    async with ChatClient(settings(base_url, max_concurrency=256)) as client:

        async def request(messages: list[Message], n: int) -> object:
            return await client.complete(messages, n=n, temperature=0.6, max_tokens=500)

        work = asyncio.gather(*(dialogue_with_shared_requests(request) for _ in range(num_dialogues)))
        cost = await measure(work, num_dialogues * (NUM_STUDENT_TURNS + NUM_JUDGE_REQUESTS + 1))
        assert client.stats.num_tries == cost.num_requests
        return cost


async def run_naive(base_url: str, num_dialogues: int) -> Cost:
    # With its default connect time-out of 5 s the SDK loses calls to its own load, and there is nothing to compare.
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none", timeout=SDK_TIMEOUT_S) as client:

        async def request(messages: list[Message], n: int) -> object:
            return await client.chat.completions.create(
                model=MODEL,
                messages=messages,  # type: ignore[arg-type]  # the SDK wants its own typed dicts
                n=n,
                temperature=0.6,
                max_tokens=500,
            )

        work = asyncio.gather(*(dialogue_with_one_request_per_sample(request) for _ in range(num_dialogues)))
        return await measure(work, num_dialogues * (NUM_STUDENT_TURNS + NUM_NAIVE_VOTES + NUM_ATTEMPTS))


async def run_crowd(base_url: str, concurrency: int) -> Cost:
    """`concurrency` callers that ask again as soon as they are answered."""
    num_rounds = max(4, 1000 // concurrency) if concurrency > 1 else 100
    messages: list[Message] = [{"role": "user", "content": TURN_TEXT}]
    async with ChatClient(settings(base_url, max_concurrency=concurrency)) as client:

        async def caller(num_requests: int) -> None:
            for _ in range(num_requests):
                await client.complete(messages, temperature=0.6, max_tokens=500)

        await asyncio.gather(*(caller(1) for _ in range(concurrency)))  # connect outside the measurement
        work = asyncio.gather(*(caller(num_rounds) for _ in range(concurrency)))
        cost = await measure(work, concurrency * num_rounds)
        assert client.stats.num_retries == 0
        return cost


def print_cost(name: str, cost: Cost) -> None:
    print(
        f"{name:<52}{cost.num_requests:>7} requests {cost.wall_s:>8.2f} s wall {cost.cpu_s:>8.2f} s CPU "
        f"{cost.cpu_ms_per_request:>7.2f} ms CPU/request"
    )


def compare(base_url: str, *, full: bool) -> None:
    ours = asyncio.run(run_ours(base_url, NUM_DIALOGUES))
    num_naive = NUM_DIALOGUES if full else NUM_NAIVE_DIALOGUES
    naive = asyncio.run(run_naive(base_url, num_naive))
    print_cost(f"eduardo.llm, {NUM_DIALOGUES} dialogues", ours)
    print_cost(f"openai SDK, one request per sample, {num_naive} dialogues", naive)
    if not full:
        naive = naive.scaled(NUM_DIALOGUES / num_naive)
        print_cost(f"  EXTRAPOLATED to {NUM_DIALOGUES} (not measured; use --full)", naive)
    shorter = naive.wall_s / ours.wall_s
    print(
        f"wall time: {shorter:.1f} times shorter, target {WALL_TARGET_TIMES:g}: {met(shorter >= WALL_TARGET_TIMES)}"
    )
    print(f"CPU: {naive.cpu_s / ours.cpu_s:.1f} times less")
    print(
        f"client CPU per request: {ours.cpu_ms_per_request:.2f} ms, target {CPU_TARGET_MS} ms: "
        f"{met(ours.cpu_ms_per_request <= CPU_TARGET_MS)}"
    )


def met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="run the naive way whole (about a minute more)")
    arguments = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, OPEN_FILES), hard), hard))
    print(f"stub server: {1000 * REQUEST_S:.0f} ms per request and {1000 * CHOICE_S:.0f} ms per choice")
    with running_stub() as base_url:
        compare(base_url, full=arguments.full)
        print("growth with concurrency:")
        costs = {n: asyncio.run(run_crowd(base_url, n)) for n in CONCURRENCIES}
    for concurrency, cost in costs.items():
        print_cost(f"  {concurrency} at once", cost)


if __name__ == "__main__":
    main()
