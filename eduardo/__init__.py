"""Train LLM tutors with multi-turn reinforcement learning."""

__version__ = "0.1.0"
