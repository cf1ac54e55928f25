"""SmolLM2 is written once, whole or not at all, and answers as student and judge behind `vllm serve`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from eduardo.classroom import smollm2
from eduardo.console import run_main
from eduardo.errors import UserError
from eduardo.llm import ChatClient
from eduardo.resources import configs_dir
from eduardo.serving import vllm_server
from eduardo.settings import EndpointSettings


def test_a_model_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    assert smollm2.main(["--out-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: already there\n"
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="not empty"):
        smollm2.convert(tmp_path)


def test_a_missing_package_is_one_line_that_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(smollm2, "PACKAGE", "a_package_that_nobody_has")
    assert run_main(smollm2.main, ["--out-dir", str(tmp_path / "model")]) == 2
    assert capsys.readouterr().err.endswith("run `make setup-smollm2`\n")
    assert not (tmp_path / "model").exists()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gguf", reason="run make setup-smollm2")
    out_dir = tmp_path_factory.mktemp("models") / "smollm2"
    assert smollm2.convert(out_dir)
    return out_dir


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_every_place_agrees_on_how_a_turn_ends(model: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, tokenize=False
    )
    assert prompt.endswith("<|im_end|>\n<|im_start|>assistant\n")
    text = "Well , what do you see ?  x = 3 . 5"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|im_end|>")
    for file in ("config.json", "generation_config.json"):
        assert json.loads((model / file).read_text())["eos_token_id"] == tokenizer.eos_token_id


@pytest.mark.e2e
@pytest.mark.timeout(600)
async def test_it_answers_as_student_and_judge_over_http(model: Path, tmp_path: Path) -> None:
    classroom = yaml.safe_load((configs_dir() / "classroom" / "smollm2.yaml").read_text())
    endpoint = yaml.safe_load((configs_dir() / "endpoint" / "default.yaml").read_text())
    names = [classroom["student"]["model"], classroom["judge"]["model"]]
    with vllm_server.start(
        model,
        names=names,
        log_file=tmp_path / "vllm.log",
        timeout_s=classroom["server"]["start_timeout_s"],
        options=classroom["server"]["options"],
        env=classroom["server"]["env"],
    ) as server:
        for name in names:
            values = {**endpoint, "base_url": server.base_url, "model": name, "max_concurrency": 8}
            async with ChatClient(EndpointSettings(**values)) as client:
                report = await client.check()
                assert report.served_models == tuple(names)
                question = [{"role": "user", "content": "What is 2 + 3?"}]
                (answer,) = await client.complete(question, temperature=0.0, max_tokens=32)
                assert "5" in (answer.text or "")
