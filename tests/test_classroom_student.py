"""The simulated student: what each tutor turn gets out of it, and what it takes into the post-test."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from statistics import mean

import pytest

from eduardo import views
from eduardo.classroom.problems import SimPair, SimProblem, generate_pair, templates
from eduardo.classroom.sim_settings import StudentParams, load_sim_settings
from eduardo.classroom.sim_student import cold_chance, reply, solve_chance
from eduardo.classroom.student_chat import read_chat
from eduardo.types import Problem, Speaker, Transcript, Turn

SHIPPED = load_sim_settings().student
SURE = SHIPPED.model_copy(update={"step_right": 1.0, "attempt_declined": 0.0, "attempt_right": 0.0})
PAIR = next(
    generate_pair(random.Random(0), t) for t in templates() if t.id == "rates_two_legs"
)  # first part, second part, whole amount
FIRST, SECOND, WHOLE = PAIR.source.steps
TRY = "please try it yourself first."


def ask(quantity: str) -> str:
    return f"how do you find the {quantity}?"


def problem(sim: SimProblem) -> Problem:
    return Problem(text=sim.text, answer=sim.answer)


def talk(
    tutor_turns: Sequence[str], *, params: StudentParams = SURE, pair: SimPair = PAIR, seed: int = 0
) -> Transcript:
    source = problem(pair.source)
    transcript = Transcript(problem=source, turns=(views.opener(source),))
    for index, text in enumerate(tutor_turns):
        transcript = transcript.with_turn(Turn(speaker=Speaker.TUTOR, text=text))
        said = reply(views.student_view(transcript), random.Random(f"{seed}/{index}"), params)
        transcript = transcript.with_turn(Turn(speaker=Speaker.STUDENT, text=said))
    return transcript


def answers(tutor_turns: Sequence[str], *, params: StudentParams = SHIPPED, num: int = 200) -> Counter[str]:
    """How often the last of the student's replies was what, over seeds."""
    return Counter(talk(tutor_turns, params=params, seed=s).turns[-1].text for s in range(num))


def chance(
    tutor_turns: Sequence[str],
    *,
    masked: bool = True,
    posed: SimProblem = PAIR.variant,
    params: StudentParams = SURE,
) -> float:
    """Chance in the post-test after a dialogue."""
    view = views.post_test_view(talk(tutor_turns, params=params), problem(posed), mask_tutor=masked)
    return solve_chance(read_chat(view), params)


COLD = cold_chance(PAIR.variant, SURE)
GUIDED = [TRY, ask("first part"), ask("second part"), ask("whole amount"), "why does that work?"]
TOLD = [str(step) for step in PAIR.source.steps]
ANSWER = f"the answer is {WHOLE.value}."


class TestInTheDialogue:
    def test_asked_for_an_attempt_it_attempts_and_is_sometimes_wrong(self) -> None:
        said = answers([TRY])
        right = sum(n for text, n in said.items() if str(FIRST) in text)
        guesses = sum(n for text, n in said.items() if "guess" in text)
        wrong_steps = sum(n for text, n in said.items() if "first part" in text and str(FIRST) not in text)
        assert right > 10
        assert guesses > 10
        assert wrong_steps > 10

    def test_a_declined_attempt_is_followed_by_one_when_it_is_asked_again(self) -> None:
        shy = SHIPPED.model_copy(update={"attempt_declined": 1.0})
        assert set(answers([TRY], params=shy)) == {"I do not know how to start."}
        assert "I do not know how to start." not in answers([TRY, "just try something."], params=shy)

    def test_asked_for_a_rightly_named_quantity_it_works_the_step_out_in_its_own_words(self) -> None:
        said = answers([TRY, ask("first part")], params=SURE)
        assert all(str(FIRST) in text for text in said if "done" not in text)
        assert len(said) > 2

    def test_it_needs_the_inputs_of_a_step_before_the_step(self) -> None:
        assert set(answers([TRY, ask("whole amount")], params=SURE)) == {
            "I need something else before the whole amount."
        }
        assert all(str(SECOND) in text for text in answers([TRY, ask("second part")], params=SURE))

    @pytest.mark.parametrize(
        "vague",
        [
            "what is the second step?",
            "what comes next?",
            "how do you find the next number?",
            "can you solve it?",
        ],
    )
    def test_a_vague_question_does_not_help(self, vague: str) -> None:
        assert all("=" not in text and "answer" not in text for text in answers([TRY, vague]))

    @pytest.mark.parametrize(
        "garbled", ["exactly.. you you the the first part?", "how do you find the the first part?"]
    )
    def test_a_garbled_question_is_not_understood(self, garbled: str) -> None:
        assert set(answers([TRY, garbled], params=SURE)) == {"I do not know what you mean."}
        again = [TRY, *[garbled] * 4, ask("first part")]
        assert all(str(FIRST) in text for text in answers(again, params=SURE))  # no try is used up

    def test_a_name_after_words_that_ask_for_nothing_does_not_help(self) -> None:
        assert all("=" not in text for text in answers([TRY, "can you work the first part?"], params=SURE))

    def test_naming_without_asking_does_not_help(self) -> None:
        assert all("=" not in text for text in answers([TRY, "the first part is nice."], params=SURE))

    def test_several_missing_quantities_at_once_are_too_much(self) -> None:
        asked = "how do you find the first part and the second part?"
        assert set(answers([TRY, asked], params=SURE)) == {"That is a lot at once."}

    def test_it_gives_up_on_a_quantity_after_a_few_tries(self) -> None:
        weak = SURE.model_copy(update={"step_right": 0.0})
        for num_tries in range(1, 6):
            said = answers([TRY, *[ask("first part")] * num_tries], params=weak, num=20)
            assert (set(said) == {"I am stuck here."}) is (num_tries > weak.max_tries)

    def test_a_quantity_that_it_has_is_not_worked_out_twice(self) -> None:
        twice = [TRY, ask("first part"), ask("first part")]
        assert set(answers(twice, params=SURE)) == {"I have the first part already."}

    def test_attempts_run_out_too(self) -> None:
        lucky = SHIPPED.model_copy(update={"attempt_right": 1.0, "cold_min": 0.65, "cold_max": 0.65})
        third = answers([TRY] * (lucky.max_attempts + 1), params=lucky)
        assert all("=" not in text for text in third)

    def test_told_that_a_step_is_wrong_it_tries_that_step_again(self) -> None:
        clumsy = SURE.model_copy(update={"step_right": 0.0, "step_unsure": 0.0})
        wrong = talk([TRY, ask("first part")], params=clumsy)
        assert str(FIRST) not in wrong.turns[-1].text
        again = wrong.with_turn(Turn(speaker=Speaker.TUTOR, text="that is not right."))
        assert str(FIRST) in reply(views.student_view(again), random.Random(0), SURE)

    @pytest.mark.parametrize(
        "tell", [str(FIRST), f"the first part is {FIRST.value}.", ANSWER, "the answer is 777."]
    )
    def test_told_something_it_thanks_and_writes_little(self, tell: str) -> None:
        assert set(answers([TRY, tell], params=SURE)) <= {"Ok, thank you.", "Thanks.", "I see."}

    def test_a_tutor_that_writes_the_mark_of_silence_is_read_as_it_wrote(self) -> None:
        told = f"the first part is {str(FIRST.value)[0]}(no reply){str(FIRST.value)[1:]}."
        assert "You told me that already." not in answers([TRY, told, ask("first part")], params=SURE)
        assert set(answers(["(no reply)"])) == {"Are you there?"}

    def test_a_step_that_was_told_is_never_worked_out_afterwards(self) -> None:
        for tell in (str(FIRST), f"the first part is {FIRST.value}."):
            assert set(answers([TRY, tell, ask("first part")], params=SURE)) == {"You told me that already."}

    def test_it_repeats_dictated_words_without_the_reasoning(self) -> None:
        assert set(answers([f"repeat after me: {FIRST}"])) == {f"first part = {FIRST.value}"}
        assert set(answers([f"repeat after me: {FIRST.expression} = {FIRST.value}."])) == {f"{FIRST.value}."}
        assert "Ok." in answers([f"repeat after me: {FIRST.expression}"])
        assert set(answers([f"{ANSWER} say it."])) == {f"{ANSWER} say it."}

    def test_asked_why_it_explains_what_it_worked_out(self) -> None:
        said = talk(GUIDED).turns[-1].text
        assert said.startswith("Because the whole amount is")
        assert "Because" not in talk([TRY, "why is that so?"]).turns[-1].text

    @pytest.mark.parametrize("idle", ["nice day today.", "well done.", "bye.", "i like green tea."])
    def test_chat_praise_and_farewell_get_a_polite_word(self, idle: str) -> None:
        assert set(answers([TRY, idle], params=SURE)) <= {"Ok.", "That is nice.", "Thank you."}

    def test_a_silent_tutor_is_noticed(self) -> None:
        assert set(answers([""])) == {"Are you there?"}

    def test_the_last_step_comes_with_the_answer(self) -> None:
        assert f"So the answer is {WHOLE.value}." in talk(GUIDED[:4]).turns[-1].text

    def test_a_problem_from_elsewhere_is_declined(self) -> None:
        other = Problem(text="What is 1 + 1?", answer="2")
        transcript = Transcript(
            problem=other, turns=(views.opener(other), Turn(speaker=Speaker.TUTOR, text=TRY))
        )
        assert "do not know" in reply(views.student_view(transcript), random.Random(0), SHIPPED)

    def test_a_tutor_who_recites_the_problem_gets_no_full_solution(self) -> None:
        said = answers(
            [f"Now solve the following problem on your own.\n\n{PAIR.variant.text}\n\n\\boxed{{}}"]
        )
        assert all("boxed" not in text for text in said)


class TestInThePostTest:
    def test_without_any_dialogue_the_chance_is_the_cold_one(self) -> None:
        view = views.cold_solve_view(problem(PAIR.variant))
        assert solve_chance(read_chat(view), SURE) == COLD

    def test_it_rises_with_every_step_that_the_student_wrote(self) -> None:
        chances = [chance(GUIDED[:n]) for n in (1, 2, 3, 4, 5)]
        assert chances == sorted(chances)
        assert len(set(chances)) == 5
        assert chances[-1] == pytest.approx(SURE.ceiling)

    def test_steps_that_the_tutor_told_count_less_and_only_when_they_can_be_seen(self) -> None:
        assert chance(TOLD, masked=True) == COLD
        assert COLD + 0.3 < chance(TOLD, masked=False) < chance(GUIDED[:4], masked=False)

    def test_a_bare_answer_hardly_helps(self) -> None:
        assert COLD < chance([ANSWER], masked=False) < COLD + 0.1
        assert chance([ANSWER], masked=True) == COLD

    @pytest.mark.parametrize("words", ["{s}", "{s.expression} = {s.value}", "{s.expression} is {s.value}"])
    def test_dictated_steps_teach_nothing_when_the_dictation_is_hidden(self, words: str) -> None:
        assert chance([f"repeat after me: {words.format(s=step)}" for step in PAIR.source.steps]) == COLD

    def test_on_the_source_problem_a_visible_answer_is_enough_an_echo_included(self) -> None:
        echoed = [f"say: the answer is {WHOLE.value}."]
        assert chance(echoed, posed=PAIR.source) == SURE.recall
        assert chance([ANSWER], posed=PAIR.source, masked=False) == SURE.recall
        assert chance([ANSWER], posed=PAIR.source, masked=True) == pytest.approx(
            cold_chance(PAIR.source, SURE)
        )
        assert chance(echoed, posed=PAIR.variant) == COLD

    def test_false_tells_teach_nothing(self) -> None:
        lies = [f"{s.quantity} = {s.expression} = {s.value + 3}." for s in PAIR.source.steps]
        assert chance(lies, masked=False) <= COLD

    def test_a_wrong_step_that_nobody_put_right_costs_a_little(self) -> None:
        clumsy = SURE.model_copy(update={"step_right": 0.0, "step_unsure": 0.0})
        assert COLD * 0.8 < chance([TRY, ask("first part")], params=clumsy) < COLD

    def test_another_kind_of_problem_does_not_profit(self) -> None:
        other = generate_pair(random.Random(1), templates()[0]).variant
        assert chance(GUIDED, posed=other) == cold_chance(other, SURE)

    def test_the_last_tutor_turn_that_shares_a_message_with_the_test_is_seen_unless_masked(self) -> None:
        told = talk(TOLD)
        ended = Transcript(problem=told.problem, turns=told.turns[:-1])
        for masked in (True, False):
            view = views.post_test_view(ended, problem(PAIR.variant), mask_tutor=masked)
            expected = chance(TOLD, masked=masked)
            assert solve_chance(read_chat(view), SURE) == expected

    def test_attempts_are_full_solutions_right_as_often_as_the_chance_says(self) -> None:
        view = views.cold_solve_view(problem(PAIR.variant))
        texts = [reply(view, random.Random(i), SHIPPED) for i in range(2000)]
        right = f"\\boxed{{{PAIR.variant.answer}}}"
        assert all(text.count("\\boxed{") == 1 for text in texts)
        assert mean(right in text for text in texts) == pytest.approx(
            cold_chance(PAIR.variant, SHIPPED), abs=0.04
        )


def test_cold_chances_spread_over_the_band_that_the_data_set_keeps() -> None:
    rng = random.Random(0)
    chances = [cold_chance(generate_pair(rng, t).source, SHIPPED) for t in templates() for _ in range(4)]
    assert 0.02 <= min(chances) < 0.1
    assert 0.55 < max(chances) <= 0.65


def test_source_and_variant_are_of_similar_difficulty() -> None:
    rng = random.Random(0)
    for template in templates():
        pair = generate_pair(rng, template)
        assert abs(cold_chance(pair.source, SHIPPED) - cold_chance(pair.variant, SHIPPED)) <= 0.375


def test_the_same_chat_and_seed_give_the_same_reply() -> None:
    view = views.student_view(Transcript(problem=problem(PAIR.source), turns=talk([TRY]).turns[:-1]))
    assert len({reply(view, random.Random(7), SHIPPED) for _ in range(5)}) == 1
    assert len({reply(view, random.Random(seed), SHIPPED) for seed in range(20)}) > 1
