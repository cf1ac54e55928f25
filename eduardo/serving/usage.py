"""Whether a model server has been of use."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

from eduardo.serving.health import DIRECT

_ANSWERED = re.compile(r"^vllm:request_success_total\{[^}]*\} (\S+)$", re.MULTILINE)


def has_answered(base_url: str, api_key: str, *, timeout_s: float = 5.0) -> bool:
    """True when vLLM counts a finished request since its start; False when it cannot be asked now."""
    request = urllib.request.Request(
        base_url.removesuffix("/v1") + "/metrics", headers={"Authorization": f"Bearer {api_key}"}
    )
    try:
        with DIRECT.open(request, timeout=timeout_s) as response:
            text = response.read().decode(errors="replace")
    except (OSError, urllib.error.URLError):
        return False
    return any(float(count) > 0 for count in _ANSWERED.findall(text))
