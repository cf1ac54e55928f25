"""Final answers: extraction, and grading that is right, symmetric and bounded in time."""

from eduardo.answers.exact import check_key, is_whole_number
from eduardo.answers.extract import extract_final_answer
from eduardo.answers.grader import Grader

__all__ = ["Grader", "check_key", "extract_final_answer", "is_whole_number"]
