"""How long a context the servers of a run need: what its limits allow plus what our own prompts put around it.

Lengths are bounded with the tutor's tokenizer (recipe.dialogue), as if student and judge counted the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eduardo.config import TrainSettings
from eduardo.education_dialogue.conversation import Background
from eduardo.education_dialogue.views import Lesson, preference_view
from eduardo.judge import Rubric
from eduardo.personas import PLAIN
from eduardo.types import Criterion, Problem, Speaker, Transcript, Turn
from eduardo.views import judge_view, opener, post_test_view, rubric_view, student_view

_CHARACTERS_PER_TOKEN = 3  # English prose has more, so this errs upwards
_TOKENS_PER_MESSAGE = 8  # role, separators and line breaks of a chat template
# The tutor's prompt, at most prompt_tokens long, states the problem twice. Student and judge see it twice as well,
# and the variant beside it; JSON adds a backslash before each backslash.
_PROMPTS = 2


def student_context(settings: TrainSettings) -> int:
    """Tokens of the longest request to the student, its reply included."""
    recipe, blank = settings.recipe, _longest(settings)
    personas = settings.classroom.personas or {}
    replies = [
        recipe.dialogue.student_turn_tokens + _tokens(student_view(blank, persona=name))
        for name in (PLAIN, *personas)
    ]
    test = recipe.post_test.max_tokens + _tokens(post_test_view(blank, blank.problem, mask_tutor=False))
    return _shown(settings) + max(test, *replies)


def judge_context(settings: TrainSettings) -> int:
    """Tokens of the longest request for a vote, its reply included."""
    blank = _longest(settings)
    votes = [_shown(settings) + _tokens(judge_view(blank, criterion)) for criterion in Criterion]
    if "education_dialogue" in settings.environment.shares:
        votes.append(
            _shown(settings) + settings.recipe.dialogue.response_tokens + _tokens(_comparison(blank))
        )
    return settings.recipe.judge.max_tokens + max(votes)


def rubric_context(settings: TrainSettings) -> int:
    """Tokens of the longest request for a rating, its reply included."""
    blank = _longest(settings)
    views = [rubric_view(blank, rubric, last_turn_only=False) for rubric in Rubric]
    return settings.rubric.max_tokens + _shown(settings) + max(map(_tokens, views))


def _shown(settings: TrainSettings) -> int:
    """What a dialogue brings with it: its turns and its problems."""
    dialogue = settings.recipe.dialogue
    return dialogue.response_tokens + _PROMPTS * dialogue.prompt_tokens


def _longest(settings: TrainSettings) -> Transcript:
    """A dialogue of as many turns as there can be, with next to nothing in them."""
    problem = Problem(text="", answer="")
    said = [Turn(speaker=speaker, text="-") for speaker in (Speaker.TUTOR, Speaker.STUDENT)]
    turns = (opener(problem), *(said * settings.recipe.dialogue.max_tutor_turns))
    return Transcript(problem=problem, turns=turns)


def _comparison(blank: Transcript) -> Sequence[Mapping[str, str]]:
    background = Background(
        topic="", student_preference="", student_reaction="", teacher_preference="", teacher_reaction=""
    )
    lesson = Lesson(turns=blank.turns, ended_by=None)
    return preference_view(background, lesson, lesson)


def _tokens(view: Sequence[Mapping[str, str]]) -> int:
    characters = sum(len(message["content"]) for message in view)
    return -(-characters // _CHARACTERS_PER_TOKEN) + _TOKENS_PER_MESSAGE * len(view)
