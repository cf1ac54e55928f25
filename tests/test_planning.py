"""Estimates of memory, work and time agree with numbers worked out by hand, and with the models' published sizes."""

import json
from dataclasses import replace

import pytest
import yaml

from eduardo.config import compose, validate
from eduardo.errors import UserError
from eduardo.plan import main
from eduardo.planning import (
    Layout,
    PlannedRun,
    checkpoint_bytes,
    estimate_memory,
    estimate_workload,
    read_architecture,
)
from eduardo.planning.architecture import from_hf_config
from eduardo.planning.workload import largest_workload
from eduardo.resources import configs_dir

pytest.importorskip("verl")  # its configuration files are composed, though it is never imported

GIB = 2**30
# A decoder small enough for mental arithmetic: per layer 64 × (64 + 32 + 32 + 64) = 12,288 of attention, 3 × 64 × 128 =
# 24,576 of the MLP; embeddings 1000 × 64.
TOY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "tie_word_embeddings": True,
}
HYBRID = {
    **TOY,
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "attn_output_gate": True,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}


def toy(**changes):
    return from_hf_config({**TOY, **changes}, source="test")


def layout(**changes):
    base = Layout(
        num_nodes=1,
        num_gpus=2,
        num_shards=2,
        master_bytes=4,
        rollout_bytes=2,
        lora_rank=0,
        offloads_weights=False,
        offloads_optimizer=True,
        checkpoints_gradients=True,
        materializes_logits=True,
        micro_batch_tokens=100,
        forward_tokens=100,
        tensor_parallel=2,
        vllm_share=0.5,
        frees_cache=True,
        max_model_len=1024,
        num_problems=4,
        group_size=2,
    )
    return replace(base, **changes)


@pytest.fixture(scope="module")
def paper():
    config = compose(["recipe=paper", "model=qwen3_5_4b", "hardware=slurm_2x4"])
    return config, validate(config)


@pytest.fixture(scope="module")
def assumptions(paper):
    return paper[1].planning


def test_parameters_of_a_plain_decoder():
    assert toy().num_parameters == 2 * (12_288 + 24_576) + 64_000
    assert toy(tie_word_embeddings=False).num_parameters == 2 * (12_288 + 24_576) + 128_000


def test_parameters_of_a_hybrid_decoder():
    # Full attention with an output gate: 64 × (128 + 32 + 32) + 64 × 64. A linear layer: keys 16, values 32, so
    # 64 × (2 × 16 + 32) + 64 × 32 + 2 × 64 × 4 + 32 × 64.
    model = from_hf_config(HYBRID, source="test")
    assert (model.num_attention_layers, model.num_linear_layers) == (1, 3)
    assert model.num_parameters == (16_384 + 24_576) + 3 * (8_704 + 24_576) + 64_000


def test_lora_adapters_of_a_plain_decoder():
    # Per layer and rank: q and o 64 + 64, k and v 64 + 32, gate, up and down 64 + 128.
    assert toy().num_lora_parameters(8) == 2 * 8 * (2 * 128 + 2 * 96 + 3 * 192)


def test_cache_grows_with_tokens_in_full_layers_only():
    # 2 tensors × 2 heads × 16 values × 2 bytes; a linear layer keeps 4 × 8 × 8 values and a window of 3 × (32 + 32).
    model = from_hf_config(HYBRID, source="test")
    assert model.kv_bytes_per_token(2) == 128
    assert model.state_bytes_per_sequence == 3 * 4 * (256 + 3 * 64)


@pytest.mark.parametrize(
    ("choice", "billions"),
    [
        # 9,653,108,208 in the checkpoint with its head for several tokens: a layer (210 M), a map of 2 × 4096 × 4096
        ("qwen3_5_9b", 9.653 - 0.210 - 0.034),
        ("qwen3_14b", 14.8),  # https://huggingface.co/Qwen/Qwen3-14B
        ("qwen3_5_4b", 4.5),
        ("qwen3_8_27b", 27.4),  # 27.8 in a checkpoint of the family with its multi-token head
    ],
)
def test_recipes_have_the_published_sizes(choice, billions):
    recipe = yaml.safe_load((configs_dir() / "model" / f"{choice}.yaml").read_text())
    model = read_architecture(recipe["planning"]["architecture"], "not/here")
    assert model.num_parameters / 1e9 == pytest.approx(billions, rel=0.01)


def test_parameters_agree_with_transformers():
    """Counted on the meta device: norms and biases are all that the estimate leaves out."""
    torch = pytest.importorskip("torch")
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig, Qwen3Config, Qwen3ForCausalLM

    kinds = ((Qwen3Config, Qwen3ForCausalLM, {**TOY, "head_dim": 16}),)
    kinds += ((Qwen3_5TextConfig, Qwen3_5ForCausalLM, {**HYBRID, "head_dim": 16}),)
    for config_class, model_class, figures in kinds:
        with torch.device("meta"):
            network = model_class(config_class(**figures))
        matrices = {id(p): p.numel() for p in network.parameters() if p.dim() == 2}
        assert from_hf_config(figures, source="test").num_parameters == sum(matrices.values())


def test_memory_of_the_update_by_hand(assumptions):
    memory = estimate_memory(toy(), layout(), assumptions.memory, gpu_gib=80)
    assert memory.weights * GIB == pytest.approx(137_728 * 4 / 2)
    assert memory.gradients == memory.weights
    assert memory.optimizer == 2 * memory.weights
    assert memory.gathered * GIB == pytest.approx(2 * (2 * 36_864 + 64_000))
    # Kept: 2 × 64. Recomputed, and its gradient: 64 + 32 + 32 + 64 + 128 + 128 + 64 of the maps, 128 + 4 × 64 more.
    assert memory.activations * GIB == pytest.approx(2 * 100 * (128 + 2 * 896))
    assert memory.logits * GIB == pytest.approx(assumptions.memory.logit_copies * 2 * 1000 * 100)


def test_memory_of_the_rollout_by_hand(assumptions):
    memory = estimate_memory(toy(), layout(), assumptions.memory, gpu_gib=80)
    assert memory.resident == memory.weights  # the optimizer is offloaded, the weights are not
    assert memory.vllm_budget == 40
    assert memory.vllm_weights * GIB == pytest.approx(137_728 * 2 / 2)
    assert memory.kv_cache == pytest.approx(
        40 - memory.vllm_weights - assumptions.memory.vllm_overhead_gib, rel=1e-6
    )
    # 2 layers × 2 tensors × 2 heads × 16 values × 2 bytes × 1024 tokens, over two GPUs
    assert memory.kv_per_dialogue * GIB == 256 * 1024 / 2


def test_offloading_makes_room_for_the_rollout_only(assumptions):
    kept, moved = (
        estimate_memory(toy(), layout(offloads_optimizer=offloads), assumptions.memory, gpu_gib=80)
        for offloads in (False, True)
    )
    assert kept.update == moved.update
    assert kept.rollout - moved.rollout == pytest.approx(kept.optimizer)


def test_vllm_that_does_not_sleep_keeps_its_share_during_the_update(assumptions):
    asleep, awake = (
        estimate_memory(toy(), layout(frees_cache=frees), assumptions.memory, gpu_gib=80)
        for frees in (True, False)
    )
    assert awake.update - asleep.update == pytest.approx(40)


def test_adapters_leave_gradients_and_optimizer_states_of_the_adapters_only(assumptions):
    memory = estimate_memory(toy(), layout(lora_rank=8), assumptions.memory, gpu_gib=80)
    adapters = toy().num_lora_parameters(8)
    assert memory.weights * GIB == pytest.approx((137_728 + adapters) * 4 / 2)
    assert memory.gradients * GIB == pytest.approx(adapters * 4 / 2)


def test_without_checkpointing_all_layers_keep_what_is_inside_them(assumptions):
    memory = estimate_memory(toy(), layout(checkpoints_gradients=False), assumptions.memory, gpu_gib=80)
    assert memory.activations * GIB == pytest.approx(2 * 100 * 2 * 896)


def test_a_checkpoint_holds_weights_and_two_states():
    assert checkpoint_bytes(toy(), layout()) == 137_728 * 12


def test_work_of_a_step_by_hand(paper, assumptions):
    recipe = paper[1].recipe
    expected = assumptions.expected.model_copy(
        update={
            "tutor_turns_share": 6 / 11,
            "prompt_tokens": 600,
            "tutor_turn_tokens": 300,
            "student_turn_tokens": 100,
            "attempt_tokens": 400,
            "vote_tokens": 200,
            "rejected_share": 0.25,
            "disagreement_share": 0.5,
        }
    )
    work = estimate_workload(recipe, expected, num_dialogues=128)
    assert work.num_tutor_turns == pytest.approx(128 * 6)
    assert work.sampled_tokens == pytest.approx(128 * 1800)
    assert work.sequence_tokens == pytest.approx(128 * (600 + 1800 + 500))
    assert work.num_student_replies == pytest.approx(128 * 5)
    assert work.num_post_tests == pytest.approx(96)
    assert work.num_judge_requests == pytest.approx(128 * 2 * 1.5)
    assert work.student_tokens == pytest.approx(128 * 5 * 100 + 96 * 16 * 400)
    assert work.judge_tokens == pytest.approx(128 * 2 * (2 + 0.5) * 200)


def test_work_at_the_limits_of_the_recipe(paper):
    work = largest_workload(paper[1].recipe, num_dialogues=128)
    assert work.num_student_replies == 1280
    assert work.sampled_tokens == 128 * 11 * 662
    assert work.sequence_tokens == 128 * 10_240
    assert work.student_tokens == 128 * (10 * 500 + 16 * 800)


def test_the_token_budget_ends_dialogues_that_would_be_longer(paper, assumptions):
    recipe = paper[1].recipe
    long = recipe.dialogue.model_copy(update={"max_tutor_turns": 1000})
    work = estimate_workload(
        recipe.model_copy(update={"dialogue": long}), assumptions.expected, num_dialogues=1
    )
    assert work.sequence_tokens == pytest.approx(
        min(assumptions.expected.prompt_tokens, 2048) + recipe.dialogue.response_tokens
    )


def test_without_a_gate_every_dialogue_is_tested(paper, assumptions):
    recipe = paper[1].recipe
    open_gate = recipe.model_copy(update={"reward": recipe.reward.model_copy(update={"gate": "off"})})
    assert estimate_workload(open_gate, assumptions.expected, num_dialogues=128).num_post_tests == 128


def test_time_and_gpu_hours_by_hand(paper):
    config, settings = paper
    gpu = settings.planning.gpu.model_copy(update={"peak_tflops": 100.0})
    speed = settings.planning.throughput.model_copy(
        update={
            "update_utilization": 0.5,
            "rollout_utilization": 0.1,
            "student_tokens_per_s": 1000.0,
            "judge_tokens_per_s": 500.0,
            "step_overhead_s": 10.0,
        }
    )
    planning = settings.planning.model_copy(update={"gpu": gpu, "throughput": speed})
    run = PlannedRun.from_config(config, settings.recipe, planning, num_steps=100)
    work, cost, parameters = run.workload(), run.cost(), run.model.num_text_parameters
    assert cost.rollout_s == pytest.approx(2 * parameters * work.sampled_tokens / (8 * 100e12 * 0.1))
    assert cost.update_s == pytest.approx(8 * parameters * work.sequence_tokens / (8 * 100e12 * 0.5))
    assert cost.student_s == pytest.approx(work.student_tokens / 1000)
    assert cost.judge_s == pytest.approx(work.judge_tokens / 500)
    assert cost.hours[0] == pytest.approx(100 * cost.fastest_step_s / 3600)
    assert cost.gpu_hours[1] == pytest.approx(16 * cost.hours[1])
    assert cost.fastest_step_s < cost.slowest_step_s
    dialogues_s = cost.rollout_s + cost.student_s + cost.judge_s
    assert cost.slowest_step_s == pytest.approx(
        (1 + cost.val_share) * dialogues_s + cost.update_s + cost.overhead_s
    )


def test_more_nodes_shorten_the_policys_part_only(paper):
    config, settings = paper
    run = PlannedRun.from_config(config, settings.recipe, settings.planning, num_steps=100)
    two, four = (variant.cost() for variant in run.on_nodes((2, 4)))
    assert four.update_s == pytest.approx(two.update_s / 2)
    assert four.student_s == two.student_s


def test_the_models_own_folder_wins_over_the_recipe(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TOY))
    assert read_architecture({**TOY, "num_hidden_layers": 7}, str(tmp_path)).num_layers == 2


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        (None, "planning.architecture"),
        ({"hidden_size": 64}, "lacks num_hidden_layers"),
        ({**TOY, "num_experts": 8}, "mixtures of experts"),
    ],
)
def test_an_unknown_shape_is_refused_with_what_to_do(figures, reason):
    with pytest.raises(UserError, match=reason):
        read_architecture(figures, "organisation/model")


def test_the_command_prints_memory_work_time_and_growth(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # a folder without data of its own
    assert main(["recipe=paper", "model=qwen3_8_27b", "hardware=one_gpu"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in ("27.35 billion parameters", "Memory of one GPU", "not measured", "GPU-hours", "4 node(s)"):
        assert part in said
    assert "does not fit in 80" in said


def test_the_command_is_about_gpus():
    with pytest.raises(UserError, match="hardware=one_gpu"):
        main([])
