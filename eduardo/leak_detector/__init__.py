"""Deterministic findings about tutors that give the final answer away."""

from eduardo.leak_detector.detector import find_leaks

__all__ = ["find_leaks"]
