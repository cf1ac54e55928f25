"""Ports of this machine and others."""

from __future__ import annotations

import socket


def free_ports(count: int) -> list[int]:
    """Different TCP ports that nobody listens on at any address of this machine."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def is_listening(host: str, port: int, *, timeout_s: float) -> bool:
    try:
        socket.create_connection((host, port), timeout=timeout_s).close()
    except OSError:
        return False
    return True
