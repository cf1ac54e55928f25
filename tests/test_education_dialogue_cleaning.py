"""Every cleaning rule, on the published records: what is taken out, and that nothing said is."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eduardo.education_dialogue.cleaning import Cleaning, clean_text, clean_turns, resolve_topic
from eduardo.education_dialogue.conversation import Utterance
from eduardo.education_dialogue.reading import ConversationFolder
from eduardo.types import Speaker

SAMPLE = ConversationFolder(Path(__file__).parent / "data/education_dialogue")
RAW: list[dict] = [record.value for split in ("train", "test") for record in SAMPLE.records(split)]  # type: ignore[misc]
TUTOR, STUDENT = Speaker.TUTOR, Speaker.STUDENT


def turns(record: int) -> list[Utterance]:
    return [
        Utterance(speaker=TUTOR if turn["role"] == "Teacher" else STUDENT, text=turn["text"])
        for turn in RAW[record]["conversation"]
    ]


def clean(text: str, speaker: Speaker = TUTOR) -> tuple[str, bool, dict[Cleaning, int]]:
    counts: Counter[Cleaning] = Counter()
    return *clean_text(text, speaker, counts), dict(counts)


@pytest.mark.parametrize(
    ("record", "turn", "spoken"),
    [
        (0, 0, "Can you tell me what you know about Sigmund Freud?"),
        (0, 1, "Not much. I'd prefer it if you just told me about him."),
        (0, 12, "Fine. Sigmund Freud was a psychologist who developed the theory of psychoanalysis..."),
        (15, 1, "What? I don't learn this way. Just tell me what it is."),
    ],
)
def test_residue_at_the_end_of_a_published_turn_is_cut(record, turn, spoken):
    text = RAW[record]["conversation"][turn]["text"]
    assert text.endswith('",')
    assert clean(text) == (spoken, False, {Cleaning.RESIDUE: 1})


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ('He called it "relativity"",', 'He called it "relativity"'),
        ('He called it "relativity""",', 'He called it "relativity"'),
        ('He called it "relativity",', 'He called it "relativity",'),
        ('He said "yes"', 'He said "yes"'),
        ("First this, then", "First this, then"),
    ],
)
def test_a_quote_that_closes_another_stays(text, spoken):
    assert clean(text)[0] == spoken


@pytest.mark.parametrize(
    ("record", "spoken", "ended_by"),
    [
        (0, "No problem.", TUTOR),  # in lower case
        (1, "I'm glad you're enjoying it.", TUTOR),
        (
            4,
            "Let's conclude our discussion here. I look forward to seeing your presentation.",
            STUDENT,
        ),  # alone
        (7, "No, I think I'm good for now.", STUDENT),  # after words of the student
        (15, "Great! I'm glad you understand.", STUDENT),  # alone, with residue
    ],
)
def test_the_end_mark_of_a_published_conversation_becomes_who_ended_it(record, spoken, ended_by):
    utterances, who = clean_turns(turns(record), Counter())
    assert (utterances[-1].text, who) == (spoken, ended_by)


def test_what_follows_the_end_mark_is_not_said():
    counts: Counter[Cleaning] = Counter()
    said = [
        Utterance(speaker=TUTOR, text="Bye. [End of Conversation] (The student leaves.)"),
        Utterance(speaker=STUDENT, text="Bye."),
    ]
    assert clean_turns(said, counts) == ((Utterance(speaker=TUTOR, text="Bye."),), TUTOR)
    assert counts == {Cleaning.END_MARK: 1, Cleaning.AFTER_END: 2}


def test_a_conversation_without_an_end_mark_was_ended_by_nobody():
    assert clean_turns(turns(3)[:-1], Counter())[1] is None


def test_turns_of_dots_are_taken_out_of_a_published_conversation():
    counts: Counter[Cleaning] = Counter()
    utterances, _ = clean_turns(turns(4), counts)
    assert [turn["text"] for turn in RAW[4]["conversation"][11:13]] == ['...",', '...",']
    assert counts[Cleaning.FILLER] == 2
    assert len(utterances) == len(RAW[4]["conversation"]) - 3  # two fillers and the end mark
    assert utterances[11].text == "I think I understand Confucius' teachings now."


def test_a_published_student_turn_that_is_only_a_direction_stays_because_the_tutor_answers_it():
    utterances, _ = clean_turns(turns(9), Counter())
    assert Utterance(speaker=STUDENT, text="[Summarizes the lesson]") in utterances


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("[Draws a circle] Look at this.", "Look at this."),
        ("Look at this. [Draws a circle]", "Look at this."),
        ("Look! [Draws a circle] What do you see?", "Look! What do you see?"),
        ("[Draws a circle]", ""),
        ("My name is [name].", "My name is [name]."),
        ("[Name], what do you see?", "[Name], what do you see?"),
        ("Look at f[x] and [1].", "Look at f[x] and [1]."),
    ],
)
def test_directions_beside_speech_are_taken_out_and_blanks_to_fill_in_are_not(text, spoken):
    assert clean(text)[0] == spoken


def test_consecutive_turns_of_one_speaker_are_joined():
    counts: Counter[Cleaning] = Counter()
    said = [
        Utterance(speaker=s, text=t) for s, t in ((TUTOR, "A."), (TUTOR, "B."), (STUDENT, " "), (TUTOR, "C."))
    ]
    assert clean_turns(said, counts) == ((Utterance(speaker=TUTOR, text="A. B. C."),), None)
    assert counts == {Cleaning.MERGED: 2, Cleaning.BLANK: 1}


def test_a_published_topic_of_two_names_becomes_the_one_that_is_taught():
    counts: Counter[Cleaning] = Counter()
    assert RAW[4]["background_info"]["topic"] == "The Eiffel TowerConfucius"
    assert resolve_topic("The Eiffel TowerConfucius", turns(4), counts) == "Confucius"
    assert counts == {Cleaning.TOPIC: 1}


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("McCarthyism", "Today we talk about McCarthyism and Mc something, Carthyism"),
        ("JavaScript", "Let us write some JavaScript."),
        ("The Eiffel TowerConfucius", "Confucius never saw the Eiffel Tower."),
        ("The Eiffel TowerConfucius", "Hello."),
    ],
)
def test_a_topic_is_only_split_when_one_half_alone_is_mentioned(topic, said):
    assert resolve_topic(topic, [Utterance(speaker=TUTOR, text=said)], Counter()) == topic


def test_cleaning_the_published_sample_changes_exactly_this():
    counts: Counter[Cleaning] = Counter()
    for record in range(16):
        clean_turns(turns(record), counts)
    assert counts == {Cleaning.RESIDUE: 32, Cleaning.END_MARK: 16, Cleaning.FILLER: 2}


def test_every_published_word_is_kept_in_order():
    """Apart from end marks and dots, cleaning removes no word character from the sample."""
    for record in range(16):
        before = "".join(turn.text for turn in turns(record))
        after = "".join(utterance.text for utterance in clean_turns(turns(record), Counter())[0])
        marker_free = before.casefold().replace("[end of conversation]", "")
        assert letters(after) == letters(marker_free)


def letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


@given(
    st.lists(
        st.builds(Utterance, speaker=st.sampled_from(Speaker), text=st.text('ab"[],. …\n', max_size=12)),
        max_size=8,
    )
)
def test_the_result_alternates_has_no_blank_text_and_is_stable(said):
    once, _ = clean_turns(said, Counter())
    assert all(a.speaker is not b.speaker for a, b in itertools.pairwise(once))
    assert all(utterance.text.strip() for utterance in once)
