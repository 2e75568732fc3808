# Two commands do everything on a machine with Python 3.10 or later, git and npm:
#   make demo   the examples, with real templates and tokenizers (no torch)
#   make test   the first tier of the tests
# All set-up happens in .venv and in the user's cache folder (CACHESAFE_CACHE); what is there already is left alone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -q
WORKERS ?= 2
# Not the two examples that have the faults that they show. They cannot be excluded in pyproject.toml: then they could not
# be linted at all where they lie.
FAULTY := examples/lint_demo/ examples/provider_traffic/
LINTED := pytest_cachesafe rules benchmarks $(filter-out $(FAULTY),$(wildcard examples/*/))
# Neighbours stay in one worker, which makes what a module or a folder needs once; who is done takes from the other's end.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
MAKEFLAGS += --no-print-directory

.PHONY: help demo test test-all bench bench-semantic lint format models bytecode encoder engines axe clean

help:
	@echo "make demo | test | test-all | bench | bench-semantic | lint | format | clean"

# A stamp is older than what it was made from, or the step is done again; a step that fails leaves none.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed, this is " + sys.version.split()[0] + ": make PYTHON=/path/to/python3")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=23.1"
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	$(PIP) install -e ".[render,clock]" anthropic
	@touch $@

# torch first, pinned, so that nothing later chooses another. It must be a CPU build: where the package index serves a
# CUDA build under this version (Linux on x86-64), point pip to CPU builds in its own configuration before this.
$(VENV)/.test: $(VENV)/.demo pyproject.toml
	$(PIP) install torch==2.13.0
	$(PIP) install -e ".[render,kv,quantized,semantic,clock,export,dev]"
	@touch $@

# The provider SDKs need Python 3.11; on 3.10 the tests that need them are skipped and say so.
$(VENV)/.sdks: $(VENV)/.test tests/requirements-sdks.txt tests/constraints-sdks.txt
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		$(PIP) install -r tests/requirements-sdks.txt -c tests/constraints-sdks.txt; fi
	@touch $@

# Cheap where everything is there, so without a stamp: the cache folder may be emptied, or be another one.
models: $(VENV)/.demo
	@$(BIN)/python tests/support/fetch_tokenizers.py
	@$(BIN)/python -c 'from pytest_cachesafe.models import fetch; print("have", fetch("HuggingFaceTB/SmolLM2-135M-Instruct"))'

demo: models
	$(BIN)/python examples/demo.py

encoder: $(VENV)/.test
	@$(BIN)/python -c 'from pytest_cachesafe.models import fetch; print("have", fetch("sentence-transformers/all-MiniLM-L6-v2"))'

# Looks for barriers in the HTML report, in a browser where there is one.
axe: $(VENV)/.demo
	@$(BIN)/python tests/support/fetch_axe.py

# Many tests start Python anew, which would compile the package each time where no bytecode may be written (CI).
bytecode: $(VENV)/.demo
	-@$(BIN)/python -m compileall -q pytest_cachesafe rules

test: $(VENV)/.sdks bytecode models encoder axe
	$(PYTEST) -m "not oracle"

# Other implementations to compare with; not among the dev requirements, since they bring many of their own.
$(VENV)/.oracle: $(VENV)/.sdks
	$(PIP) install mistral-common==1.13.1 sentencepiece openai-harmony==0.0.8
	@touch $@

# The cache managers of vLLM and SGLang, never as dependencies: unpacked wheels in the user's cache folder, without torch.
engines: $(VENV)/.test
	@$(BIN)/python tests/support/fetch_engines.py

test-all: $(VENV)/.oracle bytecode models encoder engines axe
	$(PYTEST) --hypothesis-profile deep

# The linter for the same faults that is found on PyPI: measured beside ours, used nowhere else.
$(VENV)/.bench: $(VENV)/.sdks
	$(PIP) install cachedrift==0.1.0
	@touch $@

bench: $(VENV)/.bench models encoder engines
	$(BIN)/python benchmarks/run.py

# Pairs that others labelled, brought by git into the user's cache folder; none of them is part of this project.
bench-semantic: $(VENV)/.test encoder
	@$(BIN)/python tests/support/semantic_sets.py
	@$(BIN)/python benchmarks/semantic_peers.py
	$(BIN)/python benchmarks/semantic.py --write docs/semantic.md

lint: $(VENV)/.sdks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/cachesafe lint $(LINTED) --strict

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
