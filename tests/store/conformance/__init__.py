"""What any store must do, as checks that need no test framework.

    def opening(place: str, owner: str) -> Store:
        return MyStore(address_of(place), owner=owner)

    assert check_store(opening) == []

`place` is a short name: the same name is the same store, and a new one is empty."""

from tests.store.conformance.fresh import Fresh, Opening, Unfit
from tests.store.conformance.running import CHECKS, check_store

__all__ = ["CHECKS", "Fresh", "Opening", "Unfit", "check_store"]
