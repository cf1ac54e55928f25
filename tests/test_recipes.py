"""Every GPU recipe has the published figures, and what a smaller layout or adapters change is named here."""

import os
import subprocess
import sys

import pytest
import yaml
from omegaconf import OmegaConf
from preflight_subject import composed

from eduardo.resources import configs_dir

pytest.importorskip("verl")  # its configuration files are composed

POLICIES = ("qwen3_5_4b", "qwen3_5_9b", "qwen3_14b", "qwen3_8_27b")
PUBLISHED = ("recipe=paper", "hardware=slurm_2x4", "classroom=vllm")
RECIPES = [
    *([*PUBLISHED, f"model={policy}"] for policy in POLICIES),
    ["recipe=paper", "hardware=one_node", "model=qwen3_5_4b"],
    ["recipe=paper", "hardware=one_gpu", "model=qwen3_5_4b_lora"],
]
FIGURES = {
    "algorithm.adv_estimator": "grpo_void_aware",
    "algorithm.norm_adv_by_std_in_grpo": False,
    "algorithm.use_kl_in_reward": False,
    "algorithm.rollout_correction.bypass_mode": True,
    "data.train_batch_size": 16,
    "data.max_prompt_length": 2048,
    "data.max_response_length": 8192,
    "run.seed": 42,
    "trainer.total_epochs": 5,
    "trainer.save_freq": 25,
    "trainer.test_freq": 25,
    "trainer.nnodes": 2,
    "trainer.n_gpus_per_node": 4,
    "actor_rollout_ref.actor.policy_loss.loss_mode": "dppo_tv",
    "actor_rollout_ref.actor.ppo_mini_batch_size": 8,
    "actor_rollout_ref.actor.ppo_epochs": 1,
    "actor_rollout_ref.actor.clip_ratio_low": 0.1,
    "actor_rollout_ref.actor.clip_ratio_high": 0.1,
    "actor_rollout_ref.actor.clip_ratio_c": 10.0,
    "actor_rollout_ref.actor.grad_clip": 1.0,
    "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
    "actor_rollout_ref.actor.use_kl_loss": False,
    "actor_rollout_ref.actor.entropy_coeff": 0,
    "actor_rollout_ref.actor.optim.optimizer": "AdamW",
    "actor_rollout_ref.actor.optim.lr": 1e-6,
    "actor_rollout_ref.actor.optim.betas": [0.9, 0.95],
    "actor_rollout_ref.actor.optim.override_optimizer_config.eps": 1e-15,
    "actor_rollout_ref.actor.fsdp_config.fsdp_size": -1,
    "actor_rollout_ref.actor.fsdp_config.optimizer_offload": True,
    "actor_rollout_ref.model.enable_gradient_checkpointing": True,
    "actor_rollout_ref.model.lora_rank": 0,
    "actor_rollout_ref.rollout.n": 8,
    "actor_rollout_ref.rollout.temperature": 1.15,
    "actor_rollout_ref.rollout.top_p": 1.0,
    "actor_rollout_ref.rollout.top_k": -1,
    "actor_rollout_ref.rollout.val_kwargs.temperature": 0.6,
    "actor_rollout_ref.rollout.val_kwargs.top_p": 0.95,
    "actor_rollout_ref.rollout.max_model_len": 10240,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.58,
    "classroom.student.model": "meta-llama/Llama-3.1-8B-Instruct",
    "classroom.judge.model": "Qwen/Qwen3.6-27B",
}
SERVERS = {
    "student": {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "data_parallel": 4,
        "tensor_parallel": 1,
        "max_num_seqs": 256,
        "max_model_len": 32768,
        "prefix_caching": True,
    },
    "judge": {"model": "Qwen/Qwen3.6-27B", "data_parallel": 2, "tensor_parallel": 2, "prefix_caching": True},
}
PATHS = {
    "qwen3_5_4b": "Qwen/Qwen3.5-4B",
    "qwen3_5_9b": "Qwen/Qwen3.5-9B",
    "qwen3_14b": "Qwen/Qwen3-14B",
    "qwen3_8_27b": "Qwen/Qwen3.8-27B",
}


def figures(config):
    plain = {key: OmegaConf.select(config, key) for key in FIGURES}
    return {key: OmegaConf.to_object(v) if OmegaConf.is_config(v) else v for key, v in plain.items()}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_trained_with_the_published_figures(policy):
    config, _ = composed(*PUBLISHED, f"model={policy}")
    assert figures(config) == FIGURES
    assert config.actor_rollout_ref.model.path == PATHS[policy]
    assert config.data.apply_chat_template_kwargs.enable_thinking is True


@pytest.mark.parametrize("role", SERVERS)
def test_student_and_judge_are_served_with_the_published_figures(role):
    served = yaml.safe_load((configs_dir() / "servers" / "gpu.yaml").read_text())[role]
    assert {key: served[key] for key in SERVERS[role]} == SERVERS[role]


def test_one_node_changes_the_number_of_nodes_only():
    config, _ = composed("recipe=paper", "hardware=one_node", "model=qwen3_5_4b", "classroom=vllm")
    assert {key: value for key, value in figures(config).items() if value != FIGURES[key]} == {
        "trainer.nnodes": 1
    }


def test_adapters_on_one_gpu_change_the_layout_and_the_learning_rate():
    config, _ = composed("recipe=paper", "hardware=one_gpu", "model=qwen3_5_4b_lora", "classroom=vllm")
    assert {key: value for key, value in figures(config).items() if value != FIGURES[key]} == {
        "trainer.nnodes": 1,
        "trainer.n_gpus_per_node": 1,
        "actor_rollout_ref.actor.optim.lr": 1e-5,
        "actor_rollout_ref.model.lora_rank": 32,
        "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
        "actor_rollout_ref.rollout.gpu_memory_utilization": 0.5,
    }
    model = config.actor_rollout_ref.model
    assert (model.lora_alpha, model.target_modules, model.lora.merge) == (32, "all-linear", True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("recipe", RECIPES, ids=" ".join)
def test_every_recipe_passes_the_dry_run_with_verls_own_check(recipe, tmp_path):
    """As a user runs it, without GPU, servers, data or weights."""
    command = [sys.executable, "-m", "eduardo.preflight", "--dry-run", *recipe, f"run.dir={tmp_path / 'run'}"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "accepted by verl's own check" in done.stdout
