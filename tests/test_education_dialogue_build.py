"""From published files to Parquet: rows, splits, hostile files, and what verl's own SFT data set makes of them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from eduardo.dataset import SCHEMA
from eduardo.dataset.location import Location, Record
from eduardo.education_dialogue.conversation import Conversation
from eduardo.education_dialogue.reading import ConversationFolder, parse_conversation
from eduardo.education_dialogue.rows import from_rl_row, to_rl_row, to_sft_row
from eduardo.education_dialogue.sampling import LowestRanked
from eduardo.errors import UserError
from eduardo.process_dataset import main

SAMPLE = ConversationFolder(Path(__file__).parent / "data/education_dialogue")
RAW: list[dict] = [record.value for split in ("train", "test") for record in SAMPLE.records(split)]  # type: ignore[misc]
END = "<end_of_conversation>"
PROMPT = {"prompt_style": "default", "end_tag": END}


def parsed(record: dict) -> Any:
    return parse_conversation(Record(record, Location("f.json", 1, 2)), Counter())


def conversation(number: int) -> Conversation:
    result = parsed(RAW[number])
    assert isinstance(result, Conversation)
    return result


def published(folder: Path, train: list[dict] = RAW[:12], test: list[dict] = RAW[12:]) -> Path:
    """The two kinds of file, laid out as published: one array, four spaces of indent."""
    folder.mkdir()
    (folder / "conversations_train1.json").write_text(json.dumps(train[: len(train) // 2], indent=4))
    (folder / "conversations_train2.json").write_text(json.dumps(train[len(train) // 2 :], indent=4))
    (folder / "conversations_eval.json").write_text(json.dumps(test, indent=4))
    return folder


def run(data_dir: Path, out_dir: Path, *flags: str) -> int:
    command = ["--dataset", "education_dialogue", "--data-dir", str(data_dir), "--out-dir", str(out_dir)]
    return main([*command, "--num-test", "2", *flags])


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_both_formats_of_three_splits_come_out(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(published(tmp_path / "in"), out) == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "manifest.json",
        "rejects.jsonl",
        "sft_test.parquet",
        "sft_train.parquet",
        "sft_val.parquet",
        "test.parquet",
        "train.parquet",
        "val.parquet",
    ]
    assert [len(read(out / f"{name}.parquet")) for name in ("train", "val", "test")] == [10, 2, 4]
    assert pq.read_schema(out / "train.parquet").equals(SCHEMA)
    assert "quote and comma left at the end" in capsys.readouterr().out
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["num_cleaned"]["train"]["end mark taken out of the text"] == 12


@pytest.mark.parametrize(("name", "prefix"), [("sft", ["sft_train"]), ("rl", ["train"])])
def test_one_format_alone_can_be_asked_for(tmp_path, name, prefix):
    run(published(tmp_path / "in"), tmp_path / "out", "--format", name)
    assert [p.stem for p in sorted((tmp_path / "out").glob("*train.parquet"))] == prefix


def test_a_second_run_gives_the_same_bytes(tmp_path):
    published(tmp_path / "in")
    for name in ("a", "b"):
        run(tmp_path / "in", tmp_path / name)
    a, b = ({p.name: p.read_bytes() for p in sorted((tmp_path / n).iterdir())} for n in ("a", "b"))
    assert a == b


def test_an_sft_row_is_the_environments_chat_continued_by_the_published_words():
    messages = to_sft_row(conversation(13), **PROMPT)["messages"]
    assert [message["role"] for message in messages[:4]] == ["system", "user", "assistant", "user"]
    assert messages[:2] == to_rl_row(conversation(13), split="train", index=0, **PROMPT)["prompt"]
    assert "Personification" in messages[1]["content"]
    assert messages[2]["content"] == "Hello, can you tell me what you know about personification?"
    assert messages[-1]["role"] == "assistant"
    assert messages[-1]["content"] == f"Okay, I'll check back in with you later. {END}"


def test_the_tutor_is_told_the_topic_but_not_the_student():
    for number in range(16):
        prompt = json.dumps(to_sft_row(conversation(number), **PROMPT)["messages"][:2])
        background = conversation(number).background
        assert background.topic in prompt
        assert background.student_preference not in prompt
        assert background.student_reaction not in prompt
        assert background.teacher_preference not in prompt


def test_a_chat_ends_with_the_tutor_and_only_a_tutor_who_ended_it_writes_the_end_tag():
    for number in range(16):
        messages = to_sft_row(conversation(number), **PROMPT)["messages"]
        roles = [message["role"] for message in messages[1:]]
        assert roles == ["user", "assistant"] * (len(roles) // 2)
        tags = [END in message["content"] for message in messages[2:]]
        assert sum(tags) == tags[-1] == (conversation(number).ended_by == "tutor")


def test_a_student_who_speaks_first_takes_the_place_of_the_opener():
    record = RAW[1] | {"conversation": RAW[1]["conversation"][1:]}
    messages = to_sft_row(parsed(record), **PROMPT)["messages"]
    assert messages[1] == {"role": "user", "content": "Can we do a class discussion about her?"}


def test_an_rl_row_holds_background_and_reference(tmp_path):
    run(published(tmp_path / "in"), tmp_path / "out", "--format", "rl")
    (row,) = [
        r for r in read(tmp_path / "out/test.parquet") if "Personification" in r["prompt"][0]["content"]
    ]
    assert from_rl_row(row) == conversation(13)
    assert row["data_source"] == "education_dialogue"
    assert row["reward_model"] == {"style": "preference", "ground_truth": ""}


def test_both_environments_fit_into_one_training_run(tmp_path):
    datasets = pytest.importorskip("datasets")
    from eduardo.dataset import to_row, write_rows
    from eduardo.types import ItemKind, Problem, TestItem, TransferPair

    item = TestItem(problem=Problem(text="p", answer="1"), baseline=None, kind=ItemKind.SOURCE)
    pair = TransferPair(id="x", source=item, variant=None)
    write_rows(tmp_path / "a.parquet", [to_row(pair, split="train", index=0, **PROMPT)])
    write_rows(tmp_path / "b.parquet", [to_rl_row(conversation(0), split="train", index=0, **PROMPT)])
    both = [
        datasets.load_dataset(
            "parquet", data_files=str(tmp_path / f"{n}.parquet"), cache_dir=str(tmp_path / "c")
        )["train"]
        for n in "ab"
    ]
    assert [row["data_source"] for row in datasets.concatenate_datasets(both)] == [
        "near_transfer",
        "education_dialogue",
    ]


def test_conversations_with_one_background_are_never_in_train_and_val(tmp_path):
    # twelve conversations over three backgrounds
    records = [
        record | {"background_info": RAW[i % 3]["background_info"]} for i, record in enumerate(RAW[:12])
    ]
    run(published(tmp_path / "in", records), tmp_path / "out", "--num-test", "4")
    train, val = (
        {from_rl_row(row).background.key for row in read(tmp_path / f"out/{name}.parquet")}
        for name in ("train", "val")
    )
    assert (len(train), len(val)) == (2, 1)
    assert train.isdisjoint(val)


def test_a_conversation_of_the_test_split_is_not_trained_on_and_the_overlap_is_told(tmp_path, capsys):
    again = RAW[12] | {"background_info": RAW[12]["background_info"]}
    other_words = RAW[13] | {"background_info": RAW[14]["background_info"]}
    run(published(tmp_path / "in", [*RAW[:12], again, RAW[0], other_words]), tmp_path / "out")
    rejects = [json.loads(line) for line in (tmp_path / "out/rejects.jsonl").read_text().splitlines()]
    assert [reject["rule"] for reject in rejects] == ["near-duplicate of a test row", "duplicate"]
    assert "1 of the 4 backgrounds" in capsys.readouterr().out.replace("\n", " ")


def test_caps_choose_by_the_seed_and_count_the_rest(tmp_path):
    published(tmp_path / "in")
    for seed in ("1", "2"):
        run(tmp_path / "in", tmp_path / seed, "--num-train", "3", "--num-holdout", "2", "--seed", seed)
    rows = [read(tmp_path / seed / "train.parquet") for seed in ("1", "2")]
    assert [len(r) for r in rows] == [3, 3]
    assert [r["extra_info"]["id"] for r in rows[0]] != [r["extra_info"]["id"] for r in rows[1]]
    assert len(read(tmp_path / "1/test.parquet")) == 2


def spelled(record: dict, old: str, new: str) -> dict:
    info = {key.replace(old, new): value for key, value in record["background_info"].items()}
    return record | {"background_info": info}


def test_the_right_spelling_of_preferences_is_accepted_too():
    assert parsed(spelled(RAW[0], "prefrences", "preferences")) == parsed(RAW[0])


@pytest.mark.parametrize(
    ("record", "rule", "reason"),
    [
        (["no", "object"], "wrong type", "expected an object, got list"),
        (RAW[0] | {"conversation": None}, "wrong type", "conversation must be a list, got NoneType"),
        (RAW[0] | {"conversation": []}, "nothing said", "nothing is said"),
        (
            RAW[0] | {"conversation": [{"role": "Teacher", "text": "[end of conversation]"}]},
            "nothing said",
            "",
        ),
        (
            RAW[0] | {"conversation": [{"role": "Teacher", "text": "Hello."}]},
            "too few tutor turns",
            "1 tutor turns",
        ),
        (
            RAW[0] | {"conversation": [{"role": "Parent", "text": "Hello."}]},
            "unknown speaker",
            "turn 1 is 'Parent'",
        ),
        (
            RAW[0] | {"conversation": [{"role": "Teacher", "text": 5}]},
            "wrong type",
            "text of turn 1 must be text, got int",
        ),
        (RAW[0] | {"conversation": ["Hello."]}, "wrong type", "turn 1 is no object"),
        (
            RAW[0] | {"conversation": [{"role": "Teacher", "text": "\ud800"}]},
            "text not storable as UTF-8",
            "surrogate",
        ),
        (RAW[0] | {"background_info": None}, "background incomplete", "must be an object"),
        (spelled(RAW[0], "topic", "theme"), "background incomplete", "topic is missing"),
        (
            spelled(RAW[0], "student_prefrences", "x"),
            "background incomplete",
            "student_preferences is missing",
        ),
    ],
)
def test_a_record_that_cannot_be_used_says_why(record, rule, reason):
    dropped = parsed(record)
    assert dropped.rule.value == rule
    assert reason in dropped.reason


def test_strict_stops_at_a_faulty_record_and_writes_nothing(tmp_path):
    published(tmp_path / "in", [*RAW[:3], RAW[4] | {"conversation": []}])
    with pytest.raises(
        UserError, match=r"--strict: 1 faulty rows: conversations_train2\.json line \d+: nothing is said"
    ):
        run(tmp_path / "in", tmp_path / "out", "--strict")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            json.dumps(RAW, indent=4).encode()[:9000],
            r"conversations_eval\.json line \d+: the file ends inside record",
        ),
        (json.dumps(RAW).encode().replace(b"Freud", b"Fr\xe9ud", 1), r"byte 0xe9 is not UTF-8"),
        (b"[]", r"no conversations are left for sft_test\.parquet: 0 read"),
        (b"", r"no conversations are left for sft_test\.parquet: 0 read"),
        (b"<html>", r"line 1 column 1: not valid JSON"),
    ],
)
def test_a_hostile_file_gives_one_message_and_leaves_nothing(tmp_path, content, message):
    published(tmp_path / "in")
    (tmp_path / "in/conversations_eval.json").write_bytes(content)
    with pytest.raises(UserError, match=message):
        run(tmp_path / "in", tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_record_of_50_megabytes_is_left_out_and_counted(tmp_path):
    turns = [{"role": role, "text": "x" * 17_000_000} for role in ("Teacher", "Student", "Teacher")]
    huge = RAW[0] | {"conversation": turns}
    published(tmp_path / "in", [*RAW[:11], huge])
    run(tmp_path / "in", tmp_path / "out")
    (reject,) = (tmp_path / "out/rejects.jsonl").read_text().splitlines()
    assert json.loads(reject)["rule"] == "too long"


def test_a_byte_order_mark_json_lines_and_gzip_are_read_as_well(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    lines = "".join(json.dumps(record) + "\n" for record in RAW[:12])
    (folder / "train.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines.encode()))
    (folder / "test.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(RAW[12:]).encode())
    run(folder, tmp_path / "a")
    run(published(tmp_path / "b_in"), tmp_path / "b")
    assert read(tmp_path / "a/train.parquet") == read(tmp_path / "b/train.parquet")


def test_missing_files_and_flags_are_explained(tmp_path):
    with pytest.raises(UserError, match=r"has no test files; expected conversations_eval\.json"):
        run(tmp_path, tmp_path / "out")
    with pytest.raises(UserError, match="needs --data-dir with its files, or --hf-dataset"):
        main(["--dataset", "education_dialogue", "--out-dir", str(tmp_path / "out")])
    with pytest.raises(UserError, match="--min-graded means nothing for --dataset education_dialogue"):
        run(tmp_path, tmp_path / "out", "--min-graded", "2")


def test_a_stream_is_sampled_in_whole_groups_whatever_its_order():
    stream = [(f"g{i % 5}", i) for i in range(20)]
    kept = []
    for order in (stream, stream[::-1]):
        chosen: LowestRanked[int] = LowestRanked(9, seed=3)
        turned_away = [item for group, i in order for item in chosen.offer(group, i)]
        assert sorted(turned_away + chosen.kept()) == list(range(20))
        kept.append(sorted(chosen.kept()))
    assert kept[0] == kept[1]
    assert len(kept[0]) == 8
    assert len({i % 5 for i in kept[0]}) == 2


@pytest.mark.slow
def test_verls_own_data_set_trains_on_tutor_turns_only(tmp_path):
    verl = pytest.importorskip("verl.utils.dataset.multiturn_sft_dataset")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*alphabet, "<|im_start|>", "<|im_end|>"])}
    bytes_ = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_, eos_token="<|im_end|>", pad_token="<|im_end|>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    run(published(tmp_path / "in"), tmp_path / "out", "--format", "sft")
    path = tmp_path / "out/sft_test.parquet"
    data = verl.MultiTurnSFTDataset(str(path), tokenizer, {"pad_mode": "no_padding", "max_length": 20_000})
    assert len(data) == 4
    for number, row in enumerate(read(path)):
        item = data[number]
        trained = tokenizer.decode(item["input_ids"][item["loss_mask"] == 1])
        tutor = [message["content"] for message in row["messages"] if message["role"] == "assistant"]
        assert trained == "".join(f"{content}<|im_end|>\n" for content in tutor)
