"""Personas of the student: what they add to its prompt, that tests stay the same, and how a mixture is drawn."""

from __future__ import annotations

from collections import Counter

import pytest

from eduardo import views
from eduardo.errors import UserError
from eduardo.personas import PLAIN, draw_persona, persona_names, persona_text
from eduardo.types import Problem, Speaker, Transcript, Turn

PROBLEM = Problem(text="What is 2 + 3?", answer="5")
DIALOGUE = Transcript(
    problem=PROBLEM, turns=(views.opener(PROBLEM), Turn(speaker=Speaker.TUTOR, text="What would you do?"))
)


def test_there_is_a_plain_student_and_several_others() -> None:
    assert persona_names()[0] == PLAIN
    assert {"eager", "terse", "disengaging", "answer_fishing", "stubbornly_wrong"} < set(persona_names())


@pytest.mark.parametrize("name", persona_names()[1:])
def test_a_persona_is_added_to_the_system_prompt_and_changes_nothing_else(name: str) -> None:
    plain, acting = views.student_view(DIALOGUE), views.student_view(DIALOGUE, persona=name)
    assert acting[0]["content"] == f"{plain[0]['content']}\n\n{persona_text(name)}"
    assert acting[1:] == plain[1:]


def test_no_persona_text_is_part_of_another_or_of_the_plain_prompt() -> None:
    texts = [persona_text(name) for name in persona_names()[1:]]
    plain = views.student_view(DIALOGUE)[0]["content"]
    assert len(set(texts)) == len(texts)
    assert not any(one in other for one in texts for other in [*texts, plain] if one is not other)


def test_an_unknown_persona_is_named_with_the_ones_there_are() -> None:
    with pytest.raises(UserError, match=r"no persona 'grumpy'; there are plain, .*terse"):
        persona_text("grumpy")


def test_a_mixture_is_drawn_by_weight_and_by_nothing_but_the_seed() -> None:
    weights = {"terse": 3.0, "eager": 1.0, "hasty": 0.0}
    drawn = Counter(draw_persona(weights, seed=seed) for seed in range(4000))
    assert drawn.keys() == {"terse", "eager"}
    assert 0.72 < drawn["terse"] / 4000 < 0.78
    again = dict(reversed(weights.items()))
    assert [draw_persona(weights, seed=s) for s in range(50)] == [
        draw_persona(again, seed=s) for s in range(50)
    ]
