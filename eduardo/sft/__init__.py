"""Warm start: `python -m eduardo.sft`. verl's SFT trainer on dialogues, up to a model folder that `train` takes."""

from eduardo.sft.command import main

__all__ = ["main"]
