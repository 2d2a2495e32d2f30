"""What tests share: the corpus and a PostgreSQL server, where there are any."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.line import Line
    from tests.postgres_server import Server

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

gc.set_threshold(100_000, 20, 100)  # ten thousand tests leave much behind that is looked at again

# On a build server the same examples every time: what chance finds is for those who can mend it.
settings.register_profile(
    "kedgeline", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("kedgeline")


def then_longer(normal: Iterable[Any], long: Iterable[Any]) -> list[Any]:
    """Parameters of the normal run, and behind them those of `make torture` alone."""
    several = (one if isinstance(one, tuple) else (one,) for one in long)
    return [*normal, *(pytest.param(*one, marks=pytest.mark.torture) for one in several)]


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test writes into the store of whoever runs it."""
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path_factory.getbasetemp() / "store"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real sessions to measure on; they lie beside the repository and are never part of it."""
    folder = Path(os.environ.get("KEDGELINE_CORPUS", ROOT.parent / "shared" / "corpus"))
    if not folder.is_dir():
        pytest.skip(f"no corpus at {folder}: set KEDGELINE_CORPUS to a folder of sessions")
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server, one for each worker."""
    from tests.postgres_server import NoServer, Server  # heavy, and few tests need it

    try:
        server = Server()
    except NoServer as error:
        pytest.skip(str(error))
    yield server
    server.close()


@pytest.fixture
def postgres(postgres_server: Server) -> Iterator[str]:
    """Address of a database for a store that has nothing in it yet."""
    name = postgres_server.taken()
    yield postgres_server.address(name)
    postgres_server.given_back(name)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "store"
    monkeypatch.setenv("KEDGELINE_STORE", str(place))
    monkeypatch.setenv("COLUMNS", "100")
    return place


@pytest.fixture
def kedgeline(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Line:
    """The command line with a store of its own."""
    from tests.line import Line  # it loads all commands

    return Line(monkeypatch, capsysbinary)
