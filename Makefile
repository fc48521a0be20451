# make demo and make test install what they need into .venv; nothing else on the machine changes.
PYTHON ?= python3
PYTEST_ARGS ?=
BIN := .venv/bin
STAMP := .venv/installed

.PHONY: demo test lint format clean

# A crash also ends with 1, so a traceback fails the demo as well.
demo: $(STAMP)
	@mkdir -p build; code=0; $(BIN)/kvproof check 2>build/demo.err || code=$$?; \
	cat build/demo.err >&2; \
	echo "kvproof check: exit code $$code (1 expected: one bundled writer is wrong on purpose)"; \
	test $$code -eq 1 && ! grep -q Traceback build/demo.err

test: $(STAMP)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-logo

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -qq -c constraints.txt -e '.[dev]'
	touch $@
