"""The simulated student in a persona: what its habit does to a dialogue, and that nothing changes without one."""

from __future__ import annotations

import random

from eduardo import views
from eduardo.classroom.in_process import STUDENT_MODEL, brains
from eduardo.classroom.problems import generate_pair, templates
from eduardo.classroom.served import served_brains
from eduardo.classroom.sim_personas import load_sim_personas
from eduardo.classroom.sim_settings import load_sim_settings
from eduardo.personas import PLAIN, persona_names
from eduardo.types import Problem, Speaker, Transcript, Turn

STUDENT = served_brains()[STUDENT_MODEL]
PAIR = next(generate_pair(random.Random(0), t) for t in templates() if t.id == "rates_two_legs")
SOURCE = Problem(text=PAIR.source.text, answer=PAIR.source.answer)
STEP, OTHER = PAIR.source.steps[:2]
ASK = f"can you work out the {STEP.quantity}?"


def hear(*tutor_turns: str, persona: str = PLAIN, seed: int = 0) -> list[str]:
    """The student's replies to the tutor's turns, one after the other."""
    transcript = Transcript(problem=SOURCE, turns=(views.opener(SOURCE),))
    for index, text in enumerate(tutor_turns):
        transcript = transcript.with_turn(Turn(speaker=Speaker.TUTOR, text=text))
        said = STUDENT(views.student_view(transcript, persona=persona), random.Random(f"{seed}/{index}"))
        transcript = transcript.with_turn(Turn(speaker=Speaker.STUDENT, text=said))
    return [turn.text for turn in transcript.student_turns[1:]]


def last_replies(*tutor_turns: str, persona: str, num: int = 200) -> list[str]:
    return [hear(*tutor_turns, persona=persona, seed=seed)[-1] for seed in range(num)]


def share(replies: list[str], words: str) -> float:
    return sum(words in reply for reply in replies) / len(replies)


def test_without_a_persona_every_reply_is_that_of_the_student_itself() -> None:
    plain = brains()[STUDENT_MODEL]
    transcript = Transcript(problem=SOURCE, turns=(views.opener(SOURCE),))
    asked = transcript.with_turn(Turn(speaker=Speaker.TUTOR, text=ASK))
    variant = Problem(text=PAIR.variant.text, answer=PAIR.variant.answer)
    chats = [views.student_view(asked), views.post_test_view(asked, variant, mask_tutor=True)]
    for chat in chats:
        for seed in range(50):
            assert STUDENT(chat, random.Random(seed)) == plain(chat, random.Random(seed))


def test_every_persona_has_settings_that_make_a_student() -> None:
    plain = load_sim_settings().student
    assert {PLAIN, *load_sim_personas()} == set(persona_names())
    for persona in load_sim_personas().values():
        persona.params(plain)


def test_a_terse_student_shows_its_way_only_when_asked_for_it() -> None:
    assert share(last_replies(ASK, persona="terse"), "=") == 0
    assert share(last_replies(ASK, persona="terse"), f"{STEP.value}.") > 0.7
    assert share(last_replies(f"how do you find the {STEP.quantity}?", persona="terse"), str(STEP)) > 0.7


def test_an_eager_student_goes_a_step_further() -> None:
    assert 0.3 < share(last_replies(ASK, persona="eager"), str(OTHER)) < 0.7


def test_a_disengaging_student_wanders_off_now_and_then() -> None:
    on_task = share(last_replies(ASK, persona="disengaging"), str(STEP))
    assert 0.4 < on_task < share(last_replies(ASK, persona=PLAIN), str(STEP)) - 0.15


def test_a_student_who_fishes_for_answers_works_when_the_tutor_asks_again() -> None:
    assert share(last_replies(ASK, persona="answer_fishing"), str(STEP)) < 0.3
    assert share(last_replies(ASK, ASK, persona="answer_fishing"), str(STEP)) > 0.7


def test_a_stubborn_student_repeats_its_error_when_it_is_doubted() -> None:
    wrong_first = [
        replies
        for seed in range(300)
        if str(STEP) not in (replies := hear(ASK, "not quite.", persona="stubbornly_wrong", seed=seed))[0]
    ]
    assert len(wrong_first) > 90
    insisting = [second == f"I am sure. {first}" for first, second in wrong_first]
    assert 0.45 < sum(insisting) / len(insisting) < 0.75


def test_an_anxious_student_dares_more_when_it_is_encouraged() -> None:
    encouraged = f"a guess is fine. {ASK}"
    assert share(last_replies(encouraged, persona="anxious"), str(STEP)) > 0.7
    assert share(last_replies(ASK, persona="anxious"), str(STEP)) < 0.55


def test_an_agreeable_student_shows_its_work_when_the_tutor_insists() -> None:
    assert share(last_replies(ASK, persona="agreeable"), str(STEP)) < 0.6
    assert share(last_replies(f"show me the {STEP.quantity}.", persona="agreeable"), str(STEP)) > 0.7


def test_a_hasty_student_jumps_to_a_wrong_answer_now_and_then() -> None:
    replies = last_replies(ASK, persona="hasty")
    assert 0.25 < share(replies, "I guess the answer is") < 0.55
    assert share(replies, f"the answer is {SOURCE.answer}.") == 0
