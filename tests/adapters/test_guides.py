"""The code of docs/frameworks.md runs with the real frameworks; model and tools are played ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.contract import TASK, Seen
from tests.conftest import ROOT

pytestmark = pytest.mark.adapters
FENCE = re.compile(r"^```python ([\w.]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
GUIDES = dict(FENCE.findall((ROOT / "docs" / "frameworks.md").read_text("utf-8")))


def _pydantic_ai(module: Any, seen: Seen) -> Any:
    return module.agent(module.KedgelineCompaction(), seen).model


def _llama_index(module: Any, seen: Seen) -> Any:
    return module.MockFunctionCallingLLM(is_chat_model=True)


def _agent_framework(module: Any, seen: Seen) -> Any:
    model = module.Played()
    model.seen = seen
    return model


PLAYED: dict[str, tuple[str, Callable[[Any, Seen], Any]]] = {
    "langchain": ("langchain", lambda module, seen: module.Played(seen=seen)),
    "deepagents": ("deepagents", lambda module, seen: module.Played(seen=seen)),
    "pydantic_ai": ("pydantic_ai", _pydantic_ai),
    "agents": ("openai_agents", lambda module, seen: module.model()),
    "google.adk": ("google_adk", lambda module, seen: module.Played(seen=seen)),
    "openai": ("clients", lambda module, seen: None),
    "strands": ("strands", lambda module, seen: module.Played(seen)),
    "agent_framework": ("agent_framework", _agent_framework),
    "litellm": ("litellm", lambda module, seen: None),
    "haystack": ("haystack", lambda module, seen: module.Played(seen)),
    "crewai": ("crewai", lambda module, seen: None),
    "ag2": ("ag2", lambda module, seen: module.Played(seen)),
    "llama_index.core": ("llama_index", _llama_index),
    "smolagents": ("smolagents", lambda module, seen: module.Played(seen)),
}


def test_every_guide_is_run() -> None:
    assert set(GUIDES) == set(PLAYED)


@pytest.mark.parametrize("name", GUIDES)
def test_the_code_of_a_guide_runs(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(name)
    file, played = PLAYED[name]
    try:
        module: Any = import_module(f"tests.adapters.test_{file}")
    except pytest.skip.Exception:
        pytest.skip(f"this environment is not that of {name}")
    monkeypatch.chdir(tmp_path)
    seen = Seen(window=10**9, prompted=False)
    own = {
        "model": played(module, seen),
        "tools": [module.part] if hasattr(module, "part") else [],
        "task": TASK,
    }
    exec(compile(GUIDES[name], name, "exec"), own)
    if ".report()" in GUIDES[name]:
        told = capsys.readouterr().out
        assert "tokens:" in told
        assert "window:" in told
