#!/usr/bin/env bash
# The study behind the tables of the README: three seeds of the full recipe and one run of each ablation on the
# embedded classroom, all measured on the same held-out problems. Six trainings of about ten minutes each on two
# cores; what is finished is kept, so the same command continues it.
#
#   scripts/study.sh [FOLDER]        default: runs/study
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-runs/study}
python=${VENV:-.venv}/bin/python
tutors=(--tutor before=models/tiny)

run() { # run NAME OVERRIDES...
  local name=$1
  shift
  "$python" -m eduardo.train run.dir="$folder/$name" "$@"
  tutors+=(--tutor "$name=$folder/$name")
}

[ -e data/starter/manifest.json ] || "$python" -m eduardo.process_dataset --out-dir data/starter --tutor-prompt compact
"$python" -m eduardo.classroom warm-start --out-dir models/tiny

run seed_42 run.seed=42
run seed_7 run.seed=7
run seed_8 run.seed=8
run no_gates ablation=no_gates
run no_gates_no_masking ablation=no_gates recipe.post_test.mask_tutor=false
run no_gates_no_transfer ablation=no_gates recipe.post_test.item=source

"$python" -m eduardo.evaluate environment "${tutors[@]}" --tutor guide --tutor teller \
  --control untaught --control disclosed data_file=data/starter/test.parquet out_dir="$folder/evaluation"
