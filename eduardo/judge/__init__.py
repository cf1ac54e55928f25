"""The judge, an LLM behind a chat endpoint that votes on each criterion; and the rubric judge, which scores."""

from eduardo.judge.panel import Judge
from eduardo.judge.reply import read_vote
from eduardo.judge.rubric import Rating, Rubric, RubricJudge, mean_score

__all__ = ["Judge", "Rating", "Rubric", "RubricJudge", "mean_score", "read_vote"]
