"""Runs the classroom server until it is told to stop or its parent is gone."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable

from aiohttp import web

from eduardo.classroom.server import ClassroomServer
from eduardo.errors import UserError

PARENT_POLL_S = 0.5
BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises UserError when the address cannot be had."""
    try:
        return socket.create_server((host, port), backlog=BACKLOG, reuse_port=False)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = (
                f"port {port} is in use: stop the program that holds it or choose --port 0 (any free one)"
            )
        else:
            reason = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise UserError(reason) from None


async def serve(
    server: ClassroomServer,
    listener: socket.socket,
    *,
    parent_pid: int | None,
    announce: Callable[[str], None],
) -> None:
    """Serves until SIGINT, SIGTERM, or until `parent_pid` is no longer the parent of this process."""
    runner = web.AppRunner(server.app(), access_log=None)
    await runner.setup()
    await web.SockSite(runner, listener, backlog=BACKLOG, shutdown_timeout=1.0).start()
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    host, port = listener.getsockname()[:2]
    announce(f"http://{host}:{port}/v1")
    try:
        while not stop.is_set() and (parent_pid is None or os.getppid() == parent_pid):
            try:
                await asyncio.wait_for(stop.wait(), PARENT_POLL_S)
            except TimeoutError:
                continue
    finally:
        await runner.cleanup()
