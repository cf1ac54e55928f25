"""Two environments in one run: how problems are dealt, which numbers are kept apart, what the progress line says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.config.environments import split_batch
from eduardo.dataset.rows import AGENT_NAME, to_row
from eduardo.education_dialogue.conversation import Background, Conversation, Utterance
from eduardo.education_dialogue.rows import AGENT_NAME as LESSON_AGENT_NAME
from eduardo.education_dialogue.rows import to_rl_row
from eduardo.errors import UserError
from eduardo.train.progress import step_summary
from eduardo.types import ItemKind, Problem, Speaker, TestItem, TransferPair
from eduardo.verl_adapter.data_order import DataOrder, make_order
from eduardo.verl_adapter.metrics import metrics_by_environment
from eduardo.verl_adapter.tasks import environment_index, environment_of, id_of, task_of

BOTH = {"near_transfer": 0.5, "education_dialogue": 0.5}
PAIR = TransferPair(
    id="p1",
    source=TestItem(problem=Problem(text="2 + 2?", answer="4"), baseline=None, kind=ItemKind.SOURCE),
    variant=None,
)
LESSON = Conversation(
    id="c1",
    background=Background(
        topic="Rome",
        student_preference="hands-on",
        student_reaction="and gets rude otherwise",
        teacher_preference="lectures",
        teacher_reaction="and insists",
    ),
    utterances=(Utterance(speaker=Speaker.TUTOR, text="Hello."),),
    ended_by=None,
)


def rows(num_problems, num_lessons):
    return [(f"p{i}", "near_transfer") for i in range(num_problems)] + [
        (f"c{i}", "education_dialogue") for i in range(num_lessons)
    ]


def mixed(num_problems=8, num_lessons=4, counts=None, seed=42):
    counts = counts or {"near_transfer": 2, "education_dialogue": 2}
    return make_order(rows(num_problems, num_lessons), counts, seed=seed)


@given(st.floats(0.05, 0.95), st.integers(20, 500))
def test_a_batch_is_dealt_as_close_to_the_shares_as_whole_problems_allow(share, batch_size):
    counts = split_batch({"near_transfer": share, "education_dialogue": 1 - share}, batch_size)
    assert sum(counts.values()) == batch_size
    assert abs(counts["near_transfer"] - share * batch_size) <= 1


def test_a_share_that_comes_to_no_problem_is_refused():
    with pytest.raises(UserError, match=r"education_dialogue gets none of the 4 problems"):
        split_batch({"near_transfer": 0.95, "education_dialogue": 0.05}, 4)


def test_every_step_takes_its_share_of_each_environment():
    for step in range(1, 7):
        batch = mixed().rows(step)
        assert sum(row < 8 for row in batch) == sum(row >= 8 for row in batch) == 2


def test_the_smaller_environment_is_gone_through_more_often():
    batches = [row for step in (1, 2, 3, 4) for row in mixed().rows(step)]
    assert sorted(row for row in batches if row < 8) == list(range(8))
    assert sorted(row for row in batches if row >= 8) == sorted([*range(8, 12)] * 2)


def test_one_environment_keeps_the_order_that_it_always_had():
    alone = make_order(rows(8, 0), {"near_transfer": 4}, seed=42)
    assert isinstance(alone, DataOrder)
    assert alone.rows(3) == DataOrder([f"p{i}" for i in range(8)], batch_size=4, seed=42).rows(3)


def test_a_resumed_run_needs_the_same_data_of_both():
    state = mixed().state(3)
    mixed().check_state(state, 3)
    with pytest.raises(UserError, match=r"cannot resume: education dialogue fingerprint"):
        mixed(num_lessons=5).check_state(state, 3)


def test_a_row_without_a_share_is_refused():
    with pytest.raises(UserError, match=r"rows of education_dialogue, which has no share"):
        make_order(rows(4, 1), {"near_transfer": 4}, seed=42)


def test_rows_of_both_kinds_become_their_tasks():
    style = {"prompt_style": "default", "end_tag": "<end>"}
    problem, lesson = (
        to_row(PAIR, split="train", index=0, **style),
        to_rl_row(LESSON, split="train", index=0, **style),
    )
    assert task_of(problem) == PAIR
    assert task_of(lesson) == LESSON
    assert [id_of(row) for row in (problem, lesson)] == ["p1", "c1"]
    assert [environment_of(row) for row in (problem, lesson)] == list(BOTH)
    assert [environment_index(task) for task in (PAIR, LESSON)] == [0.0, 1.0]
    assert {problem["agent_name"], lesson["agent_name"]} == {AGENT_NAME, LESSON_AGENT_NAME}


def dialogue(environment, reward, **numbers):
    return {"environment": float(environment), "void": 0.0, "reward_total": reward, **numbers}


def test_each_environment_has_means_of_its_own():
    numbers = metrics_by_environment(
        [
            dialogue(0, 0.5, delta=0.5, preference=None),
            dialogue(1, 1.0, delta=None, preference=1.0),
            dialogue(1, 0.0, delta=None, preference=0.0),
        ],
        list(BOTH),
        prefix="dialogue",
    )
    assert numbers["dialogue/near_transfer/reward_total"] == 0.5
    assert numbers["dialogue/education_dialogue/preference"] == 0.5
    assert numbers["dialogue/education_dialogue/num_dialogues"] == 2.0
    assert "dialogue/near_transfer/preference" not in numbers
    assert "dialogue/near_transfer/environment" not in numbers


def test_the_progress_line_names_both():
    line = {"dialogue/void_share": 0.0}
    for name, number in (("near_transfer", "delta"), ("education_dialogue", "preference")):
        line |= {f"dialogue/{name}/{number}": 0.25, f"dialogue/{name}/void_share": 0.0}
        line[f"dialogue/{name}/reward_total"] = 0.5
    assert step_summary(line) == (
        "near_transfer: reward +0.50  Δ +0.25  leaks –  void 0%  |  "
        "education_dialogue: reward +0.50  preferred 25%  ended –  void 0%"
    )
