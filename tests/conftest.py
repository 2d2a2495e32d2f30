"""What tests share: the corpus, where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

settings.register_profile("kedge", deadline=None, print_blob=True)
settings.load_profile("kedge")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real sessions to measure on; they lie beside the repository and are never part of it."""
    folder = Path(os.environ.get("KEDGE_CORPUS", ROOT.parent / "shared" / "corpus"))
    if not folder.is_dir():
        pytest.skip(f"no corpus at {folder}: set KEDGE_CORPUS to a folder of sessions")
    return folder
