"""The configuration of a run: every shipped choice composes and validates, every meaningless setting is refused.

A refusal is one line that names the key, and it comes before verl is even imported.
"""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from eduardo.config import compose, validate
from eduardo.config.keys import suggestion
from eduardo.config.paths import make_absolute
from eduardo.config.steps import num_steps
from eduardo.config.validate import resolve
from eduardo.config.verl_schema import fields_of
from eduardo.errors import UserError

pytest.importorskip("verl")  # its configuration files are composed, though it is never imported

CONFIGS = Path(__file__).parents[1] / "configs"
# What a choice needs that a user has to name.
NEEDS = {
    "classroom=vllm": [
        "classroom.student.base_url=http://student:8000/v1",
        "classroom.judge.base_url=http://judge:8000/v1",
    ],
    "rubric=endpoint": ["rubric.judge.base_url=http://judge:8000/v1", "rubric.judge.model=large"],
    "classroom=openai": ["classroom.student.model=small", "classroom.judge.model=large"],
}


def combinations():
    """As few combinations as hold every choice of every group, each beside several of the other groups."""
    groups = ("environment", "recipe", "training", "model", "hardware", "classroom", "rubric", "ablation")
    choices = {group: sorted(path.stem for path in (CONFIGS / group).glob("*.yaml")) for group in groups}
    for turn in range(max(map(len, choices.values()))):
        yield [f"{group}={stems[turn % len(stems)]}" for group, stems in choices.items()]


def composed(*overrides):
    config = compose(overrides)
    return config, validate(config)


def refusal(*overrides):
    with pytest.raises(UserError) as caught:
        composed(*overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture(scope="module")
def default():
    return composed()


@pytest.mark.parametrize("choices", list(combinations()), ids=" ".join)
def test_every_shipped_choice_composes_and_validates(choices):
    # The embedded recipe's micro-batches do not fit every mixture; what is under test is that files fit together.
    composed(
        *choices,
        "actor_rollout_ref.actor.use_dynamic_bsz=true",
        *(n for c in choices for n in NEEDS.get(c, [])),
    )


def test_the_default_is_the_embedded_one_on_two_cores(default):
    config, settings = default
    assert config.trainer.device == "cpu"
    assert settings.classroom.server.kind == "simulated"
    assert config.actor_rollout_ref.actor.policy_loss.loss_mode == "dppo_tv"
    assert config.algorithm.rollout_correction.bypass_mode is True
    assert config.algorithm.norm_adv_by_std_in_grpo is False


def test_token_limits_of_the_recipe_are_those_of_verl(default):
    config, settings = default
    limits = settings.recipe.dialogue
    assert config.data.max_response_length == config.actor_rollout_ref.rollout.response_length
    assert config.data.max_response_length == limits.response_tokens
    assert config.actor_rollout_ref.rollout.max_model_len == limits.prompt_tokens + limits.response_tokens


@pytest.mark.parametrize(
    ("ablation", "changed"),
    [
        ("no_masking", {"recipe.post_test.mask_tutor": False}),
        ("no_gates", {"recipe.reward.gate": "off"}),
        ("no_transfer", {"recipe.post_test.item": "source"}),
    ],
)
def test_an_ablation_changes_one_leaf(default, ablation, changed):
    config, _ = composed(f"ablation={ablation}", f"run.name={default[0].run.name}")
    before, after = (_leaves(c) for c in (default[0], config))
    assert {key: after[key] for key in after if after[key] != before[key]} == changed


def _leaves(config, prefix=""):
    flat = {}
    for key, value in (
        OmegaConf.to_container(config).items() if not isinstance(config, dict) else config.items()
    ):
        path = f"{prefix}{key}"
        flat |= _leaves(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return flat


@pytest.mark.parametrize(
    ("override", "hint"),
    [
        ("recipe.max_turn=5", "recipe.dialogue.max_tutor_turns"),
        ("+recipe.max_turn=5", "recipe.dialogue.max_tutor_turns"),
        ("++recipe.judge.vote=1", "recipe.judge.votes"),
        ("run.nmae=x", "run.name"),
        ("trainer.total_training_step=3", "trainer.total_training_steps"),
        ("+actor_rollout_ref.rollout.temprature=1", "actor_rollout_ref.rollout.temperature"),
        ("++actor_rollout_ref.actor.fsdp_config.mixed_precison=null", "mixed_precision"),
    ],
)
def test_h01_a_mistyped_key_is_refused_with_a_suggestion(override, hint):
    message = refusal(override)
    assert message.startswith(f"unknown key {override.lstrip('+').partition('=')[0]}")
    assert hint in message.partition("did you mean")[2]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("recipe.post_test.mask_tutor=off", "true or false"),
        ("recipe.post_test.mask_tutor='False'", "true or false"),
        ("trainer.val_before_train=no", "true or false"),
        ("recipe.dialogue.max_tutor_turns=22x", "a number"),
        ("actor_rollout_ref.actor.optim.lr=fast", "a number"),
        ("data.train_batch_size=true", "a number"),
        ("trainer.logger=console", "a list"),
        ("run.env=3", "a mapping"),
        ("run.env={HF_TOKEN: a}", "HF_TOKEN would be written into the run folder: export it"),
        ("run.name=[a]", "a text"),
        ("data.train_files=b.parquet,c.parquet", "a list is written [a,b]"),
        ("run.seed=1,2", "one run takes one value"),
        ("foo", "KEY=VALUE"),
        ("hardware=gpu", "there are cpu, one_gpu, one_node, slurm_2x4"),
        ("recipe.dialogue.max_tutor_turns=0", "greater than or equal to 1"),
        ("recipe.dialogue.max_tutor_turns=4.5", "integer"),
        ("recipe.faults.max_void_share=1.5", "less than or equal to 1"),
        ("recipe.reward.gate=maybe", "'hard', 'soft' or 'off'"),
        ("classroom.student.base_url=''", "classroom.student.base_url=''"),
        ("classroom.student.base_url=localhost", "^(https?"),
        ("classroom.student.base_url='${oc.env:EDUARDO_NOT_SET}'", "EDUARDO_NOT_SET is not set"),
        (
            "classroom.student.base_url='${oc.env:EDUARDO_NOT_SET,???}'",
            "classroom.student.base_url has no value",
        ),
        ("classroom=openai", "model has no value"),
        ("recipe.post_test.min_graded=17", "above attempts"),
    ],
)
def test_h01_a_meaningless_value_is_refused(override, expected):
    assert expected in refusal(override)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["actor_rollout_ref.actor.ppo_mini_batch_size=3"], "multiple"),
        (["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=5"], "must divide"),
        (["recipe.faults.max_void_share=0.5"], "without a valid dialogue"),
        (["actor_rollout_ref.rollout.top_p=0.9"], "top_p must be 1"),
        (["actor_rollout_ref.rollout.temperature=0"], "above 0"),
        (
            ["actor_rollout_ref.rollout.n=1", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1"],
            "at least 2",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(overrides, expected):
    assert expected in refusal(*overrides)


def test_verl_keys_that_its_files_do_not_list_can_be_set_without_a_plus():
    config = compose(
        [
            "actor_rollout_ref.rollout.engine_kwargs.vllm.max_logprobs=5",
            "actor_rollout_ref.model.override_config.rope_theta=1e4",
            "ray_kwargs.ray_init.log_to_driver=false",
            "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=bf16",
            "+actor_rollout_ref.rollout.enable_sleep_mode=true",
        ]
    )
    assert config.actor_rollout_ref.rollout.engine_kwargs.vllm.max_logprobs == 5
    assert config.ray_kwargs.ray_init.log_to_driver is False
    assert config.actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype == "bf16"
    assert config.actor_rollout_ref.rollout.enable_sleep_mode is True


def test_h01_one_data_file_may_be_named_without_brackets():
    assert compose(["data.train_files=a.parquet"]).data.train_files == ["a.parquet"]


def test_paths_become_absolute_and_hub_names_stay(default, tmp_path):
    config = compose(["run.dir=r", "actor_rollout_ref.model.path=org/model", "data.val_files=[v.parquet]"])
    validate(config)
    make_absolute(config, tmp_path)
    assert config.run.dir == config.trainer.v1.sampler.sampler_kwargs.run_dir == str(tmp_path / "r")
    assert config.trainer.default_local_dir == str(tmp_path / "r" / "checkpoints")
    assert config.data.val_files == [str(tmp_path / "v.parquet")]
    assert config.actor_rollout_ref.model.path == "org/model"


def test_fields_of_verl_dataclasses_are_read_with_those_that_they_inherit():
    assert {"temperature", "enable_sleep_mode"} <= fields_of("verl.workers.config.RolloutConfig")
    assert {"mixed_precision", "use_torch_compile"} <= fields_of("verl.workers.config.FSDPEngineConfig")
    assert not fields_of("verl.workers.config.NoSuchConfig")


@pytest.mark.parametrize(("limit", "steps"), [(None, 4), (3, 3), (40, 4)])
def test_a_run_is_as_long_as_its_epochs_or_shorter_when_asked(tmp_path, limit, steps):
    path = tmp_path / "train.parquet"
    pq.write_table(pa.table({"row": range(5)}), path)
    config = OmegaConf.create(
        {
            "data": {"train_files": [str(path)], "train_batch_size": 2},
            "trainer": {"total_epochs": 2, "total_training_steps": limit},
        }
    )
    assert num_steps(config) == steps


def test_nothing_is_suggested_when_nothing_is_close():
    assert suggestion("qqqqq.zzzzz", frozenset({"run.name", "trainer.nnodes"})) == ""


def test_the_command_refuses_within_seconds_and_without_verl():
    code = (
        "import sys\n"
        "from eduardo.console import run_main\n"
        "from eduardo.train import main\n"
        "status = run_main(main, ['+recipe.max_turn=5'])\n"
        "heavy = {'torch', 'verl', 'ray', 'vllm', 'transformers'} & set(sys.modules)\n"
        "sys.exit(99 if heavy else status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(
        "error: unknown key recipe.max_turn; did you mean recipe.dialogue.max_tutor_turns"
    )
    assert done.stderr.count("\n") == 1


def test_a_bare_number_is_the_text_of_an_environment_variable():
    _, settings = composed("run.env.OMP_NUM_THREADS=2")
    assert settings.run.env["OMP_NUM_THREADS"] == "2"


def test_a_mixture_of_personas_is_set_by_name_and_weight():
    settings = composed("classroom.personas={plain: 2, terse: 1}")[1]
    assert settings.classroom.personas == {"plain": 2.0, "terse": 1.0}


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ("{grumpy: 1}", "no persona 'grumpy'; there are plain"),
        ("{terse: 0}", "no persona has a weight above 0"),
    ],
)
def test_a_mixture_that_cannot_be_drawn_from_is_refused(weights, reason):
    message = refusal(f"classroom.personas={weights}")
    assert message.startswith("classroom.personas")
    assert reason in message


def test_the_rubric_judge_is_off_and_may_be_another_endpoint_than_the_judge(default):
    assert default[1].rubric.judge is None
    settings = composed("rubric=judge", "rubric.judge.model=large")[1]
    assert settings.rubric.judge.model == "large"
    assert settings.rubric.judge.base_url == settings.classroom.judge.base_url


@pytest.mark.parametrize("classroom", ["vllm", "simulated"])
def test_the_judge_as_rubric_judge_is_asked_in_the_same_way_and_under_the_same_limits(classroom):
    fields = {"max_concurrency": 7, "total_timeout_s": 61.0, "max_retries": 3, "api_key_env": "A_KEY"}
    overrides = [f"classroom.judge.{name}={value}" for name, value in fields.items()]
    settings = composed("rubric=judge", f"classroom={classroom}", *overrides)[1]
    assert settings.rubric.judge == settings.classroom.judge


@pytest.mark.parametrize(
    "name", ["chat", "create_transfer_dataset", "education_dialogue", "evaluate", "middle_turn", "serve"]
)
def test_no_command_is_left_with_an_interpolation(name, monkeypatch):
    monkeypatch.setenv("EDUARDO_ENDPOINTS", "/shared/endpoints")
    config = compose([], config_name=name)
    resolve(config)
    assert "${" not in str(OmegaConf.to_container(config))
