"""What a server is told about the object that it must write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

StructuredOutput: TypeAlias = Literal["auto", "json_schema", "off"]
"""auto: with a schema, and without one where the server refuses it; json_schema: never without; off: never with."""


def response_format(name: str, fields: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The `response_format` of an object with exactly these fields, all required, in this order.

    Put the field that decides last, so that a reply that was cut can not look finished.
    """
    return {
        "type": "json_schema",
        "json_schema": {
            "name": name,
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {field: dict(kind) for field, kind in fields.items()},
                "required": list(fields),
                "additionalProperties": False,
            },
        },
    }
