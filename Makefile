# powercut: `make` alone lists the targets. Everything that a target writes lands in build/, .venv/
# or .powercut/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
# Tests at once. Many native tests wait for a time limit. Python tests start compilers and engines of their own, and
# wait for one in seven of their seconds.
CTEST_JOBS ?= $(shell echo $$((2 * $$(nproc))))
PYTEST_JOBS ?= $(shell echo $$((1 + $$(nproc))))
BUILD := build
PYTHON := .venv/bin/python
# The conformance programs stay as they are: their goldens name lines.
CPP_FILES = $(shell git ls-files '*.cc' '*.h' '*.c' '*.cpp' ':!tracer/llvm/tests/programs')

.PHONY: help setup build run wheel release test test-fast test-long setup-languages test-languages conformance test-real-fs mutants fuzz litmus goldens bench pin coverage lint tidy typecheck check format docs screenshots clean

help:  ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

setup:  ## Install what is missing: Debian packages, .venv with locked Python packages
	@tools/setup.sh

# Ninja runs CMake again by itself when a CMakeLists.txt changes. `make run` configures without tests.
build:  ## Build the native parts into build/bin and build/lib
	@grep -qs '^POWERCUT_BUILD_TESTS:BOOL=ON' $(BUILD)/CMakeCache.txt || cmake -S . -B $(BUILD) -G Ninja -DPOWERCUT_BUILD_TESTS=ON
	@ninja -C $(BUILD) -j $(JOBS)

run:  ## Show a first finding; then check every scheme, published and hardened, and write the report
	@tools/run.sh $(BUILD) $(JOBS)

wheel: setup  ## Build the Python packages into build/dist
	@tools/wheel.sh $(BUILD)

release: wheel  ## Build all that a release has into build/dist, and check it; nothing is uploaded
	@$(PYTHON) -m build --sdist --no-isolation --skip-dependency-check --outdir $(BUILD)/dist . >/dev/null
	@$(PYTHON) -m twine check --strict $(BUILD)/dist/*

test: setup build wheel  ## Run all tests but the long ones; tell the ten slowest of each half
	@ctest --test-dir $(BUILD) --output-on-failure -j $(CTEST_JOBS)
	@echo 'The ten slowest, in seconds:'
	@sed '/^---/,$$d' $(BUILD)/Testing/Temporary/CTestCostData.txt | awk '{ printf "%6.1f %s\n", $$NF, $$1 }' | sort -rn | sed -n 1,10p
	@$(PYTHON) -m pytest -n $(PYTEST_JOBS) --dist worksteal --durations=10

test-fast: setup build  ## Run the tests that take less than two seconds each
	@ctest --test-dir $(BUILD) --output-on-failure -j $(CTEST_JOBS) -LE slow
	@$(PYTHON) -m pytest -n $(PYTEST_JOBS) --dist worksteal -m "not long and not slow and not browser"

test-long: setup build  ## Run the long tests alone (minutes to hours); tell how long each took
	@ctest --test-dir $(BUILD) --output-on-failure -C long -L long
	@$(PYTHON) -m pytest -m long --durations=0 --durations-min=1

setup-languages:  ## Install what the tests in other languages take: Go, Rust, Node, Java, LevelDB
	@tools/setup.sh languages

test-languages: setup setup-languages build  ## Run the long tests of programs in other languages, and of programs of others, alone
	@POWERCUT_REQUIRE_TOOLS=1 $(PYTHON) -m pytest -m long tracer/calls/tests/languages tests/files/test_real_programs.py tests/docs/test_flash_examples.py

conformance: setup build  ## Print which programs the tracers of a folder record exactly (two minutes)
	@$(PYTHON) -m tracer.calls.tests.conformance

# PAGE=docs/file-systems.md writes the page of the run.
PAGE ?=
test-real-fs: setup build  ## Hold the profiles of files against the real ext4, xfs and btrfs, and confirm findings there (root; a quarter of an hour)
	@POWERCUT_REAL_FS_PAGE=$(PAGE) $(PYTHON) -m pytest -m "long or not long" --durations=5 replayer/media/files/real tests/confirm

mutants: setup build  ## Break the engine on purpose, in ways that some test must notice each
	@$(PYTHON) -m pytest -m long -rA tests/house/test_mutants.py

# MUTANTS=1000000 for the whole measure; they are kept in build/mutants. For memory errors, give the engine's mutants to
# a build with sanitizers: make fuzz BUILD=build-asan (CONTRIBUTING.md).
MUTANTS ?= 10000
FUZZ_SEED ?= 1
fuzz: setup build  ## Give mutants of every input to the engine and to the Python half; MUTANTS=N FUZZ_SEED=N
	@$(PYTHON) -m tests.cli.input_mutants --engine-seeds $(BUILD)/mutant-seeds
	@for kind in trace plan finding requests edits measure checkpoint log stream; do \
	  $(BUILD)/bin/powercut-mutants $$kind $(BUILD)/mutant-seeds/$$kind --trace $(BUILD)/mutant-seeds/trace \
	    --count $(MUTANTS) --seed $(FUZZ_SEED) --keep $(BUILD)/mutants || exit 1; done
	@$(PYTHON) -m tests.cli.input_mutants --count $(MUTANTS) --seed $(FUZZ_SEED) --keep $(BUILD)/mutants

litmus: setup build  ## Hold the persistency models against their litmus tests
	@.venv/bin/powercut litmus

goldens: setup build  ## Rewrite the expected outputs of the golden tests; read the diff before you commit it
	@POWERCUT_UPDATE_GOLDENS=1 $(PYTHON) -m pytest $$(git grep -l POWERCUT_UPDATE_GOLDENS -- 'test_*.py' '*/test_*.py')
	@git diff --stat

bench: setup build  ## Measure, and write docs/performance.md; BENCH=--full adds the runs of 10^6 operations
	@$(PYTHON) -m tools.bench $(BENCH)

pin:  ## Build the Pintool with the kit in PIN_ROOT=/path/to/kit (without one it says what is missing)
	@PIN_ROOT="$(PIN_ROOT)" tracer/pin/build.sh $(BUILD)

coverage: setup build  ## Lines of each scheme's protocol that its core scenarios reach
	@ninja -C $(BUILD) -j $(JOBS) powercut_coverage
	@$(PYTHON) -m tools.coverage

lint: setup  ## Run ruff and clang-format
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@clang-format-19 --dry-run -Werror $(CPP_FILES)

tidy: setup  ## Run clang-tidy over the C++ sources (half an hour)
	@tools/tidy.sh $(BUILD)/tidy $(JOBS)

typecheck: setup  ## Run mypy --strict
	@$(PYTHON) -m mypy

check: lint typecheck test  ## Everything that must pass before a commit, and what continuous integration runs

format: setup  ## Format and mend what ruff and clang-format can mend
	@$(PYTHON) -m ruff check --fix --quiet . || true
	@$(PYTHON) -m ruff format .
	@clang-format-19 -i $(CPP_FILES)

docs: setup build  ## Build the documentation into build/site, with the pages that the commands and the bug corpus write
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet
	@echo $(BUILD)/site/index.html

screenshots: setup build  ## Record runs, and write the pictures of the docs into docs/images (minutes)
	@$(PYTHON) tools/screenshots.py

clean:  ## Remove what was built and found (keeps .venv)
	@rm -rf $(BUILD) .powercut .pytest_cache .mypy_cache .ruff_cache .hypothesis
