"""What is kept of every scored dialogue: a versioned line of JSON, and a flat set of numbers."""

from eduardo.records.jsonl import VERSION, DialogueWriter, from_json, read_dialogues, to_json
from eduardo.records.metrics import flat_metrics

__all__ = ["VERSION", "DialogueWriter", "flat_metrics", "from_json", "read_dialogues", "to_json"]
