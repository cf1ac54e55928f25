"""Whether a server answers at all."""

from __future__ import annotations

import urllib.error
import urllib.request

# Model servers are on this machine or beside it: a proxy for the outside world would not find them.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def is_healthy(base_url: str, *, timeout_s: float = 5.0) -> bool:
    """True when `/health` beside the `/v1` of `base_url` says so. It needs no key."""
    health_url = base_url.removesuffix("/v1") + "/health"
    try:
        with DIRECT.open(health_url, timeout=timeout_s) as response:
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False
