"""Text of `python -m eduardo.train --help`."""

HELP = """\
usage: eduardo train [KEY=VALUE ...] [--cfg job] [--dry-run] [--config-dir DIR]

Train a tutor: it talks with a student about math problems, the student takes a masked near-transfer post-test,
a judge looks for handed-over answers and errors, and DPPO on verl learns from the gain.
Without arguments it trains the tiny tutor in the embedded classroom on two CPU cores.

choices (configs/), one of each:
  environment=near_transfer|education_dialogue|mixed      docs/data.md tells about lessons and mixed runs
  recipe=embedded|paper        what a dialogue is and what it earns; also chooses training=
  training=embedded|paper|two_steps
                               batch, learning rate, divergence bounds, epochs; two_steps tries a stack out
  model=tiny|smollm2|qwen3_5_4b|qwen3_5_4b_lora|qwen3_5_9b|qwen3_14b|qwen3_8_27b
  hardware=cpu|one_gpu|one_node|slurm_2x4
  classroom=simulated|smollm2|vllm|vllm_colocated|openai
  ablation=none|no_masking|no_gates|no_transfer

keys most often changed:
  run.dir=DIR                  run folder; the same command with the same folder continues a run
  run.resume=auto|never|PATH   PATH: a checkpoint folder (DIR/checkpoints/global_step_N)
  run.seed=42
  preflight.enabled=false      without the table of checks at the start (eduardo preflight makes it alone)
  data.train_files=[FILE,...]  data.val_files=[FILE,...]      written by eduardo process_dataset
  trainer.total_training_steps=N  trainer.save_freq=N  trainer.test_freq=N
  actor_rollout_ref.model.path=FOLDER_OR_HUB_ID
  classroom.student.base_url=URL  classroom.student.model=NAME  (likewise classroom.judge)
Every key of verl can be set as well. --cfg job prints all keys with their values and ends;
--dry-run checks them, prints the run folder and what the ablation changes, and ends.

examples:
  eduardo train
  eduardo train run.dir=runs/first trainer.total_training_steps=10
  eduardo train ablation=no_gates run.seed=7
  eduardo train recipe=paper model=qwen3_5_4b hardware=one_gpu classroom=vllm \\
      classroom.student.base_url=http://student:8000/v1 classroom.judge.base_url=http://judge:8000/v1

Ctrl-C, SIGTERM or SIGUSR1 saves a checkpoint and ends; a second one ends at once.
Under Slurm it brings up Ray over the job's nodes itself (sbatch scripts/train.sbatch); with RAY_ADDRESS it joins a
cluster that is there. Both are in docs/cluster.md.
Run folder: config.yaml manifest.json metrics.jsonl tensorboard/ dialogues/ checkpoints/ curves.png train.log
exit status: 0 finished, 2 bad input, 1 failed, 128 + N stopped by signal N
"""
