# Everything runs inside .venv; nothing here needs root. uv is used where it is found, python -m venv and pip otherwise.
# EXTRAS=all adds what the optional rooms need (torch, pyspark, dask, ibis).
EXTRAS ?= light
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
PROJECT_FILES := pyproject.toml Makefile

ifdef UV
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
MAKE_VENV := $(UV) venv --quiet --seed --python $(PYTHON) $(VENV)
GROUP = --group $(1)
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MAKE_VENV := $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
GROUP = --group $(1)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench oracle docs clean

help:  ## list these commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

$(VENV)/.core: $(PROJECT_FILES)
	@test -x $(BIN)/python || { $(MAKE_VENV); }
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.light: $(VENV)/.core
	@$(INSTALL) $(call GROUP,test)
	@touch $@

# torch first and with pip: a plain resolver would take the CUDA build, several gigabytes of it.
$(VENV)/.all: $(VENV)/.light
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	@touch $@

$(VENV)/.lint: $(VENV)/.core
	@$(INSTALL) $(call GROUP,lint)
	@touch $@

demo: $(VENV)/.core  ## a verdict on two real models, and believable-demo.png
	@$(BIN)/believable demo

test: $(VENV)/.$(EXTRAS)  ## run the tests (EXTRAS=all: the whole suite, with optional packages)
	$(BIN)/python -m pytest -q $(PYTEST_ARGS)

lint: $(VENV)/.lint  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.core  ## speed and memory, side by side with the peers that are installed
	$(BIN)/python -m benchmarks

oracle:  ## regenerate the recorded values of other libraries and check that they reproduce
	bash tests/oracle/regenerate.sh --check

docs: $(VENV)/.core  ## regenerate the metric table and the pictures of the documentation
	$(BIN)/python scripts/make_docs.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) .oracle build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
