# Every target sets up what it needs. `make` alone lists them.
VENV ?= .venv
PYTHON ?=
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH ?= $(filter-out stub_server,$(basename $(notdir $(wildcard benchmarks/*.py))))
BENCH_ARGS ?=
export VENV PYTHON
BIN := $(abspath $(VENV))/bin
RUN := $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help setup setup-gpu setup-smollm2 demo test test-e2e test-browser test-slurm check format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  PYTHON=python3.12 chooses the interpreter, VENV=folder the environment (default .venv)"

setup: ## create or refresh the environment for this machine's CPU (quick when nothing changed)
	@bash scripts/setup.sh cpu

setup-gpu: ## the same for a machine with NVIDIA GPUs
	@bash scripts/setup.sh gpu

setup-smollm2: setup ## add the small real LLM (classroom=smollm2, model=smollm2)
	@bash scripts/setup.sh smollm2

demo: setup ## train a small tutor with the embedded classroom and compare it before and after
	$(RUN) -m eduardo.demo $(DEMO_ARGS)

test: setup ## unit tests (PYTEST_ARGS="-k ledger" narrows them)
	$(RUN) -m pytest --numprocesses=logical --maxprocesses=8 $(PYTEST_ARGS)

test-e2e: setup-smollm2 ## tests that run verl, vLLM and Ray for real (minutes)
	$(RUN) -m pytest -m "e2e or ray or slow" $(PYTEST_ARGS)

test-browser: setup ## tests of the pages in a real Chromium (Debian package chromium)
	$(RUN) -m pytest -m browser tests/browser $(PYTEST_ARGS)

test-slurm: setup ## training as a job of a real Slurm cluster that the tests start here (Debian: slurm-wlm munge)
	$(RUN) -m pytest -m slurm tests/slurm -rs $(PYTEST_ARGS)

check: setup ## formatting, lint, types, import contracts, shell scripts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck scripts/*.sh scripts/*.sbatch .ci/run

format: setup ## let ruff format the code and fix what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## measure the parts (BENCH=client narrows to benchmarks/client.py)
	@for name in $(BENCH); do echo "== $$name"; $(RUN) benchmarks/$$name.py $(BENCH_ARGS) || exit; done

clean: ## remove the environment, caches and build outputs (runs/, data/ and models/ stay)
	if [ -e "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
