"""Seeds as a pure function of what is being sampled, so that no global random state ever matters."""

from __future__ import annotations

import hashlib


def derive_seed(*parts: str | int) -> int:
    """A 31-bit seed from its parts (run seed, step, pair id, sample index, turn ...), stable over processes."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") & 0x7FFF_FFFF
