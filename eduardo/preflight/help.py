"""Text of `python -m eduardo.preflight --help`."""

HELP = """\
usage: eduardo preflight [KEY=VALUE ...] [--dry-run] [--config-dir DIR]

Check whether a training could start here, and print a table of pass, warn, fail and skipped, each with what to do. It
takes the words of `eduardo train`, which runs the same checks first (preflight.enabled=false turns them off there).

Checked are: the configuration, by this project and by verl; data files, their splits and leaks between them; the
model's folder, tokenizer and chat template; memory of policy, optimizer, cache and longest batch; room for checkpoints;
clocks, ports, package versions; and student and judge: do they answer, with the right model, a long enough context and
structured output, how fast is one vote and one post-test, how many calls do they sustain, how long will a step take.

  --dry-run        without GPU, servers, data and weights: what needs them is skipped, and says so

examples:
  eduardo preflight
  eduardo preflight --dry-run recipe=paper model=qwen3_5_4b hardware=slurm_2x4
  eduardo preflight recipe=paper model=qwen3_5_4b hardware=one_gpu classroom=vllm data_dir=data/published

exit status: 0 nothing failed, 1 something did, 2 the configuration cannot be composed
"""
