"""The pedagogical reward model: a real classifier of random weights, scored in batches as one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_classifier import write_classifier

from eduardo.errors import UserError
from eduardo.evaluation.jsonl import read_lines
from eduardo.evaluation.middle_turn.answers import Answer
from eduardo.evaluation.middle_turn.moments import Moment
from eduardo.evaluation.middle_turn.reward_model import RewardModel, Score, score_all, scored_chat
from eduardo.evaluation.middle_turn.settings import RewardModelSettings
from eduardo.types import Problem, Speaker, Turn

HISTORY = (Turn(speaker=Speaker.TUTOR, text="Hello"), Turn(speaker=Speaker.STUDENT, text="I got 6."))
MOMENTS = [
    Moment(id=str(n), cluster="c", problem=Problem(text="2 + 3?", answer="5"), history=HISTORY, human="Why?")
    for n in range(5)
]
ANSWERS = {m.id: Answer(id=m.id, text="Show me. " * int(m.id) ** 2) for m in MOMENTS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_classifier(tmp_path_factory.mktemp("reward"))


def settings(path: Path, **changes: Any) -> RewardModelSettings:
    shipped = {"revision": None, "device": "cpu", "dtype": "auto", "batch_size": 8, "max_tokens": 4096}
    return RewardModelSettings(**{**shipped, "path": str(path), "system_prompt_file": None, **changes})


def test_a_batch_gets_the_scores_that_each_conversation_gets_alone(folder: Path) -> None:
    model = RewardModel(settings(folder))
    chats = [scored_chat(m, ANSWERS[m.id].text, model.system_prompt) for m in MOMENTS]
    together = [score for score, _ in model.score(chats)]
    alone = [model.score([chat])[0][0] for chat in chats]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len(set(together)) == len(together)


def test_a_conversation_that_is_too_long_loses_its_beginning_and_says_so(folder: Path) -> None:
    short = RewardModel(settings(folder, max_tokens=60))
    whole = RewardModel(settings(folder))
    chat = scored_chat(MOMENTS[0], "And why is that?", whole.system_prompt)
    [(cut_score, was_cut)] = short.score([chat])
    [(score, whole_was_cut)] = whole.score([chat])
    assert (was_cut, whole_was_cut) == (True, False)
    other = [*chat[:-1], {"role": "assistant", "content": "It is 5."}]
    assert short.score([other])[0][0] != cut_score != score  # the answer itself is always read


def test_a_model_without_a_chat_template_reads_role_and_text(tmp_path: Path) -> None:
    model = RewardModel(settings(write_classifier(tmp_path, chat_template=None)))
    assert len(model.score([scored_chat(MOMENTS[0], "Why?", "s")])) == 1


def test_a_classifier_with_several_logits_is_no_reward_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a classifier with 3 logits; a reward model has one"):
        RewardModel(settings(write_classifier(tmp_path, num_labels=3)))


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"reward_model.path=.*cannot be loaded"):
        RewardModel(settings(tmp_path / "nothing"))


def test_scores_are_kept_and_only_missing_ones_are_computed(folder: Path, tmp_path: Path) -> None:
    file, computed = tmp_path / "scores.jsonl", []
    model = RewardModel(settings(folder, batch_size=2))
    for moments in (MOMENTS[:2], MOMENTS):
        score_all(moments, ANSWERS, model, file=file, progress=computed.append)
    assert sum(computed) == len(MOMENTS)
    assert {score.id for score in read_lines(file, Score)} == {moment.id for moment in MOMENTS}
