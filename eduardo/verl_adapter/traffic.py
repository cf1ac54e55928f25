"""What requests to student and judge cost a worker in tries and waiting, handed out dialogue by dialogue."""

from __future__ import annotations

from eduardo.llm import ChatClient

COUNTED = ("num_tries", "num_retries", "queue_s", "backoff_s")


class Traffic:
    """Counters of clients that all dialogues of a worker share."""

    def __init__(self, **clients: ChatClient) -> None:
        self._clients = clients
        self._seen: dict[str, float] = {}

    def take(self) -> dict[str, float]:
        """`CLIENT_COUNTER` → what was added since the last call, so that sums over dialogues are the worker's own."""
        now = {
            f"{name}_{counter}": client.stats.as_dict()[counter]
            for name, client in self._clients.items()
            for counter in COUNTED
        }
        taken = {key: value - self._seen.get(key, 0.0) for key, value in now.items()}
        self._seen = now
        return taken
