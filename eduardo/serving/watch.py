"""Servers that a run started itself: when one ends, the run cannot go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


class Server(Protocol):
    @property
    def is_alive(self) -> bool: ...

    def last_words(self) -> str: ...


@dataclass(slots=True)
class ServerWatch:
    _servers: list[tuple[str, Server]] = field(default_factory=list)

    def add(self, name: str, server: Server) -> None:
        self._servers.append((name, server))

    def death(self) -> str | None:
        """Which server has ended and what it said last; None while all are alive."""
        for name, server in self._servers:
            if not server.is_alive:
                return f"{name} ended while the run needed it: {server.last_words()}"
        return None
