# Everything a stranger needs: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: setup demo test test-all lint audit bench docs clean

setup: $(READY)

$(READY): requirements/runtime.txt requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/runtime.txt -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: $(READY)
	$(BIN)/ultrahyperbolic embed karate -o out/karate --overwrite

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-all: lint audit
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=
	for room in geometry objective training embedding; do \
	  $(BIN)/coverage report --include="*/ultrahyperbolic/$$room/*" --fail-under=95 || exit 1; \
	done

audit: $(READY)
	$(BIN)/python requirements/audit.py

bench: $(READY)
	$(BIN)/python benchmarks/geometry.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/karate.py
	$(BIN)/python benchmarks/optimisation.py --graph karate
	$(BIN)/python benchmarks/minimize.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/goals.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/report.py

docs: $(READY)
	$(BIN)/python benchmarks/accuracy.py --docs docs
	$(BIN)/python benchmarks/geometry.py --docs docs

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
