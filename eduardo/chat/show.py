"""Views and results as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eduardo.settings import RecipeSettings
from eduardo.types import Criterion, Message, Outcome, ScoredDialogue, Speaker, TestItem, Transcript, Verdict
from eduardo.views import SILENCE, judge_view, post_test_view, student_view

VIEWS = ("tutor", "student", "masked", "judge")


def view(
    name: str, transcript: Transcript, *, prompt: Sequence[Message], item: TestItem, recipe: RecipeSettings
) -> str | None:
    """One of VIEWS, or None when there is no such view."""
    if name == "tutor":
        return "\n".join([_chat(prompt), *_tutor_turns(transcript)])
    if name == "student":
        return _chat(student_view(transcript))
    if name == "masked":
        return _chat(post_test_view(transcript, item.problem, mask_tutor=recipe.post_test.mask_tutor))
    if name == "judge":
        return "\n\n".join(
            f"--- {criterion}\n{_chat(judge_view(transcript, criterion))}" for criterion in Criterion
        )
    return None


def result(dialogue: ScoredDialogue, *, person_is_student: bool) -> str:
    """Verdicts, post-test and reward parts, and what they mean when a person took the test."""
    return "\n".join(
        [
            f"\nended: {dialogue.transcript.end_reason}",
            *(line for verdict in dialogue.verdicts for line in _verdict(verdict)),
            *(f"leak detector: {finding}" for finding in dialogue.detector),
            *_post_test(dialogue),
            *_reward(dialogue, person_is_student=person_is_student),
        ]
    )


def _chat(messages: Sequence[Message]) -> str:
    return "\n".join(f"[{message['role']}] {message['content']}" for message in messages)


def _tutor_turns(transcript: Transcript) -> Iterator[str]:
    for turn in transcript.turns[1:]:  # the prompt holds the opener
        if turn.thinking:
            yield f"[assistant, thinking] {turn.thinking}"
        role = "assistant" if turn.speaker is Speaker.TUTOR else "user"
        faults = f"   ({', '.join(turn.faults)})" if turn.faults else ""
        yield f"[{role}] {turn.text or SILENCE}{faults}"


def _verdict(verdict: Verdict) -> Iterator[str]:
    yield f"judge, {verdict.criterion}: {verdict.decision or 'undecided'}"
    for vote in verdict.votes:
        quote = f' "{vote.quote}"' if vote.quote else ""
        yield f"    {vote.decision or 'lost'}: {vote.reason or vote.fault or 'no reason given'}{quote}"


def _post_test(dialogue: ScoredDialogue) -> Iterator[str]:
    test = dialogue.post_test
    if test is None:
        yield "post-test: none"
        return
    key = test.item.problem.answer
    yield f"post-test on the {test.item.kind} problem: {test.num_right} of {test.num_graded} right (answer: {key})"
    for attempt in test.attempts:
        if attempt.grade is not None and attempt.grade.outcome is Outcome.UNGRADABLE:
            yield "    the answer key cannot be graded"


def _reward(dialogue: ScoredDialogue, *, person_is_student: bool) -> Iterator[str]:
    reward = dialogue.reward
    if reward is None:
        yield f"no reward: {dialogue.void_reason}"
        return
    parts = " ".join(f"{name} {value:+.3f}" for name, value in reward.parts.items() if value)
    yield f"reward {reward.total:+.3f} = {parts or '0'}"
    if reward.pre is None or reward.post is None:
        return
    yield f"solve rate before {reward.pre:.2f}, after {reward.post:.2f}"
    if person_is_student:
        yield (
            "    before is the configured student's rate without tutoring, after is your one attempt: "
            "the parts show how the reward is made, not what you learned"
        )
