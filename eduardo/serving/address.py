"""The address of this machine at which others on its network find it. No name service is asked."""

from __future__ import annotations

import os
import socket

import psutil

# An address for documentation (RFC 5737) that is nobody's: the way to it is the default route. Nothing is sent.
_ANYWHERE = "192.0.2.1"


def own_address(towards: str | None = None) -> str:
    """The address on the route to `towards`, else to the node that started this Slurm step, else on the default route.

    A host that cannot be resolved, and this machine itself, are passed over. Without any route it is that of the
    first interface that is up, and loopback where there is none.
    """
    for target in (towards, os.environ.get("SLURM_LAUNCH_NODE_IPADDR"), _ANYWHERE):
        address = _address_towards(target) if target else None
        if address and not address.startswith("127."):
            return address
    return _first_interface() or "127.0.0.1"


def _address_towards(target: str) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((target, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return None


def _first_interface() -> str | None:
    states = psutil.net_if_stats()
    for name, addresses in psutil.net_if_addrs().items():
        for entry in addresses:
            is_up = name in states and states[name].isup
            if is_up and entry.family == socket.AF_INET and not entry.address.startswith("127."):
                return entry.address
    return None
