"""Tokens and requests of one training step, for dialogues of an expected shape and at the recipe's limits."""

from __future__ import annotations

from dataclasses import dataclass

from eduardo.planning.settings import ExpectedSettings
from eduardo.settings import RecipeSettings
from eduardo.types import Criterion

NUM_CRITERIA = len(Criterion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Of all dialogues of a step together."""

    num_dialogues: int
    num_tutor_turns: float
    sampled_tokens: float  # by the policy
    sequence_tokens: float  # that the policy is trained over: prompt, tutor and student turns
    num_student_replies: float
    num_post_tests: float  # requests for the attempts at one post-test
    num_judge_requests: float
    student_tokens: float  # generated
    judge_tokens: float

    @property
    def num_student_requests(self) -> float:
        return self.num_student_replies + self.num_post_tests


def estimate_workload(recipe: RecipeSettings, expected: ExpectedSettings, *, num_dialogues: int) -> Workload:
    """The average step."""
    limits = recipe.dialogue
    tutor_tokens = min(expected.tutor_turn_tokens, limits.tutor_turn_tokens)
    student_tokens = min(expected.student_turn_tokens, limits.student_turn_tokens)
    in_budget = (limits.response_tokens + student_tokens) / (tutor_tokens + student_tokens)
    turns = max(1.0, min(expected.tutor_turns_share * limits.max_tutor_turns, in_budget))
    tested = 1 - expected.rejected_share if recipe.reward.gate == "hard" else 1.0
    majority = recipe.judge.votes // 2 + 1
    votes = NUM_CRITERIA * (majority + expected.disagreement_share)
    return _scaled(
        num_dialogues,
        turns=turns,
        sampled=turns * tutor_tokens,
        sequence=min(expected.prompt_tokens, limits.prompt_tokens)
        + turns * tutor_tokens
        + (turns - 1) * student_tokens,
        replies=turns - 1,
        reply_tokens=student_tokens,
        post_tests=tested,
        attempt_tokens=recipe.post_test.attempts * min(expected.attempt_tokens, recipe.post_test.max_tokens),
        judge_requests=NUM_CRITERIA * (1 + expected.disagreement_share),
        judge_tokens=votes * min(expected.vote_tokens, recipe.judge.max_tokens),
    )


def largest_workload(recipe: RecipeSettings, *, num_dialogues: int) -> Workload:
    """A step in which every limit is reached."""
    limits = recipe.dialogue
    return _scaled(
        num_dialogues,
        turns=limits.max_tutor_turns,
        sampled=min(limits.max_tutor_turns * limits.tutor_turn_tokens, limits.response_tokens),
        sequence=limits.prompt_tokens + limits.response_tokens,
        replies=limits.max_tutor_turns - 1,
        reply_tokens=limits.student_turn_tokens,
        post_tests=1,
        attempt_tokens=recipe.post_test.attempts * recipe.post_test.max_tokens,
        judge_requests=NUM_CRITERIA * (1 + recipe.judge.votes),
        judge_tokens=NUM_CRITERIA * recipe.judge.votes * recipe.judge.max_tokens,
    )


def _scaled(
    num_dialogues: int,
    *,
    turns: float,
    sampled: float,
    sequence: float,
    replies: float,
    reply_tokens: float,
    post_tests: float,
    attempt_tokens: float,
    judge_requests: float,
    judge_tokens: float,
) -> Workload:
    """From figures of one dialogue."""
    return Workload(
        num_dialogues=num_dialogues,
        num_tutor_turns=num_dialogues * turns,
        sampled_tokens=num_dialogues * sampled,
        sequence_tokens=num_dialogues * sequence,
        num_student_replies=num_dialogues * replies,
        num_post_tests=num_dialogues * post_tests,
        num_judge_requests=num_dialogues * judge_requests,
        student_tokens=num_dialogues * (replies * reply_tokens + post_tests * attempt_tokens),
        judge_tokens=num_dialogues * judge_tokens,
    )
