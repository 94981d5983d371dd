# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/bash
export DEBIAN_FRONTEND := noninteractive
# Hundreds of processes are started by the tests: none should compile the same source again.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 3 # tests wait for disks, servers and Spark: a third worker uses that time of two processors
QUICK := tests/privacy tests/schema tests/queries tests/artifacts tests/docs tests/tools tests/test_public_names.py tests/test_rooms.py

.DEFAULT_GOAL := help
.PHONY: help demo test one quick check format bench trust mutants audit house clean

help:
	@echo "make demo     set up, then publish a bundled table and ask it questions"
	@echo "make test     set up, then check and run all tests"
	@echo "make one T=.. run the tests whose names hold a word: make one T=ledger"
	@echo "make quick    the checks and the fast tests, for every save"
	@echo "make check    format, ruff, mypy --strict, import contracts, privacy lint, trusted lines"
	@echo "make bench    measure speed and error; prints a table"
	@echo "make trust    the long statistical and crash runs"
	@echo "make mutants  plant every bug of the catalogue, and see the tests catch it"
	@echo "make audit    lower bounds on the epsilon of every mechanism and release"
	@echo "make house    the size of the code, what must be trusted, what a question passes through"
	@echo "make clean    remove everything that make created"

# A virtual environment needs Debian's python3-venv, which a bare machine may lack.
$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  echo "Installing python3-venv"; \
	  apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python -m pip install --quiet --upgrade pip

# pip compiles one file at a time; all processors together take half as long.
INSTALL = $(BIN)/python -m pip install --quiet --no-compile --editable
COMPILE = $(BIN)/python -m compileall -q -j 0 $(VENV)/lib src > /dev/null || true

$(VENV)/.core: $(BIN)/python pyproject.toml
	@echo "Setting up discreet in $(VENV)"
	@$(INSTALL) .
	@$(COMPILE)
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	@echo "Setting up discreet in $(VENV), with what the tests need"
	@$(INSTALL) '.[test]'
	@$(COMPILE)
	@touch $(VENV)/.core
	@command -v initdb > /dev/null || ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || { \
	  echo "Installing PostgreSQL"; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql > /dev/null; }
	@command -v java > /dev/null || { \
	  echo "Installing Java, for the tests of Spark"; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless > /dev/null; }
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || { \
	  echo "Installing chromium, for the tests of the web page"; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-liberation > /dev/null; }
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/discreet demo

check: $(VENV)/.test
	@$(BIN)/ruff format --check --quiet src tests benchmarks tools
	@$(BIN)/ruff check --quiet src tests benchmarks tools
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	@$(BIN)/python tools/privacy_lint.py
	@$(BIN)/python tools/trusted.py --check > $(VENV)/trusted.log || { cat $(VENV)/trusted.log; exit 1; }

format: $(VENV)/.test
	@$(BIN)/ruff format src tests benchmarks tools
	@$(BIN)/ruff check --quiet --fix src tests benchmarks tools

# The checks run beside the tests: they keep one processor busy for a minute, where the tests have two.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory check > $(VENV)/check.log 2>&1 & checking=$$!; \
	$(BIN)/python -m pytest -q -n $(WORKERS); tested=$$?; \
	wait $$checking; checked=$$?; cat $(VENV)/check.log; \
	test $$tested -eq 0 -a $$checked -eq 0

one: $(VENV)/.test
	@test -n "$(T)" || { echo "Say which tests: make one T=word"; exit 2; }
	@$(BIN)/python -m pytest -q -n $(WORKERS) -k "$(T)"

quick: check
	@$(BIN)/python -m pytest -q -n $(WORKERS) $(QUICK)

house: $(VENV)/.test
	@$(BIN)/python tools/house.py

bench: $(VENV)/.bench
	@$(BIN)/python benchmarks/run_all.py $(if $(KEPT),--kept $(KEPT))

trust: $(VENV)/.test mutants audit
	@$(BIN)/python -m pytest -q -n $(WORKERS) --fresh-noise
	@$(BIN)/python -m pytest -q -n $(WORKERS) --fresh-noise -m "hypothesis and not trust" --hypothesis-profile=search
	@$(BIN)/python -m pytest -q --fresh-noise -m trust

mutants: $(VENV)/.test
	@$(BIN)/python tests/mutants/run.py

audit: $(VENV)/.test
	@$(BIN)/python -m tests.harness.audits
	@$(BIN)/python -m tests.harness.concurrency --fast

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
