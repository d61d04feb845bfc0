# Everything a stranger needs: `make demo`, which sets up .venv without PyTorch, and `make test`, which adds that and the tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE_READY := $(VENV)/.base-ready
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
PIP := -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
PYTHONS ?= $(PYTHON)

.PHONY: setup demo test test-machines test-all mutants lint words audit bench docs measure-docs snippets dist clean

setup: $(READY)

$(BASE_READY): requirements/base.txt pyproject.toml
	@echo "Setting up $(VENV), which takes about a minute, once."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -r requirements/base.txt
	$(BIN)/python $(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(READY): $(BASE_READY) requirements/torch.txt requirements/dev.txt
	@echo "Adding PyTorch and the tools to $(VENV), which takes 1.5 to 2.5 minutes, once."
	$(BIN)/python $(PIP) -r requirements/base.txt -r requirements/torch.txt -r requirements/dev.txt
	touch $@

demo: $(BASE_READY)
	@echo "Embedding the karate club. The first run also compiles the training loops, which takes about ten seconds, once."
	$(BIN)/ultrahyperbolic embed karate -o out/karate --overwrite

LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

lint: $(READY) words
	$(LINT)

# README and docs are read in an hour: new words take the place of others.
WORDS := 25000

words:
	@count=$$(cat README.md docs/*.md | wc -w); echo "$$count words in README.md and docs, of $(WORDS)"; \
	test $$count -le $(WORDS)

# Lint and types are checked beside the tests, and say so after them. Files of tests stay whole, so that what they share is
# made once; they need Python's cached byte code, since they start many processes.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20

test: $(READY)
	@mkdir -p out
	@{ $(LINT); } > out/lint.txt 2>&1 & lint=$$!; trap 'kill $$lint' INT TERM; \
	$(PYTEST) -m "not slow"; tests=$$?; \
	wait $$lint; lint=$$?; cat out/lint.txt; exit $$((tests | lint))

# The quick tests as other processors would run them: the compiler is told of another one, with a cache of its own.
ifeq ($(shell uname -m),x86_64)
TARGETS ?= generic haswell skylake-avx512
else
TARGETS ?= generic cortex-a53
endif

# $(call as_machines,TARGETS,TESTS)
as_machines = for target in $(1); do \
	  echo "as $$target"; \
	  NUMBA_CPU_NAME=$$target NUMBA_CACHE_DIR=$(CURDIR)/out/numba-$$target $(PYTEST) -m "not slow" $(2) || exit 1; \
	done

test-machines: $(READY)
	$(call as_machines,$(TARGETS))

test-all: lint audit dist
	$(PYTEST) --hypothesis-profile=thorough --cov --cov-report=
	for room in geometry objective training embedding; do \
	  $(BIN)/coverage report --include="*/ultrahyperbolic/$$room/*" --fail-under=95 || exit 1; \
	done
	$(call as_machines,$(wordlist 1,2,$(TARGETS)),tests/engines tests/training)

# Thirty mistakes, one at a time: do the quick tests see each of them?
mutants: $(READY)
	$(BIN)/python tests/mutants.py --json out/mutants.json

audit: $(READY)
	$(BIN)/python requirements/audit.py

bench: $(READY)
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/karate.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/truth.py board --graphs lesmis tree_with_cycles power_law
	$(BIN)/python benchmarks/cost.py scaling
	$(BIN)/python benchmarks/cost.py evaluation
	$(BIN)/python benchmarks/report.py

# The site, in out/site. A broken link or anchor is an error.
docs: $(DOCS_READY)
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/python benchmarks/report.py --gallery out/site/gallery
	@echo "The site is in out/site: open out/site/index.html"

$(DOCS_READY): $(READY) requirements/docs.txt
	$(BIN)/python $(PIP) -r requirements/docs.txt
	touch $@

# Measure again what pages say of accuracy.
measure-docs: $(READY)
	$(BIN)/python benchmarks/accuracy.py --docs docs

# Run the commands that pages show, and write what they print now.
snippets: $(READY)
	$(BIN)/python benchmarks/snippets.py

# Wheel and sdist in dist/; the wheel is installed without PyTorch, and what pages show is run there, for each of PYTHONS.
dist: $(READY)
	rm -rf dist build
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python requirements/wheel.py dist $(PYTHONS)

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
