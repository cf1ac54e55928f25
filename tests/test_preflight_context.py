"""What a server must have room for: the longest dialogue of the recipe with its problems and our prompts around it."""

import pytest
from preflight_subject import changed, composed

from eduardo.preflight.context import judge_context, rubric_context, student_context
from eduardo.types import Criterion, Problem, Speaker, Transcript, Turn
from eduardo.views import judge_view, opener, post_test_view

pytest.importorskip("verl")  # its configuration files are composed, though it is never imported

GPUS = ("recipe=paper", "model=qwen3_5_4b", "hardware=slurm_2x4")
WORD = "ab "  # stands for one token: no real tokenizer makes more of it
FRAME_WORDS = 8  # of a chat template around a message


def longest_dialogue(recipe):
    """Fills every limit: the tutor's prompt states the problem twice, and turns share the response tokens."""
    problem = Problem(text=WORD * (recipe.dialogue.prompt_tokens // 2), answer="4")
    num_turns = 2 * recipe.dialogue.max_tutor_turns - 1
    said = WORD * (recipe.dialogue.response_tokens // num_turns)
    turns = [Turn(speaker=list(Speaker)[number % 2], text=said) for number in range(num_turns)]
    return Transcript(problem=problem, turns=(opener(problem), *turns))


def num_words(view):
    return sum(len(message["content"].split()) + FRAME_WORDS for message in view)


@pytest.mark.parametrize("overrides", [GPUS, ()])
def test_the_longest_dialogue_fits_with_all_that_stands_around_it(overrides):
    _, settings = composed(*overrides)
    recipe, dialogue = settings.recipe, longest_dialogue(settings.recipe)
    test = post_test_view(dialogue, dialogue.problem, mask_tutor=False)
    assert num_words(test) + recipe.post_test.max_tokens <= student_context(settings)
    for criterion in Criterion:
        assert num_words(judge_view(dialogue, criterion)) + recipe.judge.max_tokens <= judge_context(settings)


def test_a_judge_with_room_for_the_dialogue_and_its_reply_alone_is_too_short():
    _, settings = composed(*GPUS)
    recipe = settings.recipe
    assert judge_context(settings) > recipe.judge.max_tokens + recipe.dialogue.response_tokens
    assert judge_context(settings) > 12_288


@pytest.mark.parametrize("environment", ["near_transfer", "education_dialogue", "mixed"])
def test_the_shipped_servers_pass_with_the_published_recipe(environment):
    node = ("recipe=paper", "model=qwen3_5_4b", "hardware=one_node", "classroom=vllm_colocated")
    _, settings = composed(*node, f"environment={environment}")
    servers = settings.classroom.server.servers
    assert student_context(settings) <= servers.student.max_model_len
    assert judge_context(settings) <= servers.judge.max_model_len
    assert rubric_context(settings) <= servers.judge.max_model_len


def test_the_small_llm_on_cpus_passes_with_the_embedded_recipe():
    _, settings = composed("classroom=smollm2")
    (length,) = [o for o in settings.classroom.server.options if o.startswith("--max-model-len=")]
    assert max(student_context(settings), judge_context(settings), rubric_context(settings)) <= int(
        length.partition("=")[2]
    )


def test_a_comparison_of_lessons_needs_room_for_two():
    _, near = composed(*GPUS)
    _, lessons = composed(*GPUS, "environment=education_dialogue")
    assert judge_context(lessons) - judge_context(near) > near.recipe.dialogue.response_tokens


def test_every_limit_counts():
    _, settings = composed(*GPUS)

    def grown(section, **values):
        recipe = settings.recipe
        return changed(
            settings, recipe=changed(recipe, **{section: changed(getattr(recipe, section), **values)})
        )

    assert judge_context(grown("judge", max_tokens=5_096)) == judge_context(settings) + 1_000
    assert judge_context(grown("dialogue", response_tokens=9_192)) == judge_context(settings) + 1_000
    assert student_context(grown("dialogue", prompt_tokens=3_048)) == student_context(settings) + 2_000
    assert student_context(grown("dialogue", student_turn_tokens=5_000)) > student_context(settings)
    assert student_context(grown("dialogue", max_tutor_turns=30)) > student_context(settings)
