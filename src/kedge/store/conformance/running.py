"""All checks in a row."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.plugins import FAULTS
from kedge.store.conformance.adding import ADDING
from kedge.store.conformance.finding import FINDING
from kedge.store.conformance.fresh import Fresh, Opening, Unfit
from kedge.store.conformance.holding import HOLDING
from kedge.store.conformance.keeping import KEEPING
from kedge.store.conformance.placing import PLACING
from kedge.store.conformance.searching import SEARCHING

CHECKS = (*ADDING, *HOLDING, *PLACING, *FINDING, *SEARCHING, *KEEPING)
"""Each takes a `Fresh` and raises `Unfit` where a store does not do what its name says."""


def check_store(open_: Opening, *, prefix: str = "check") -> list[str]:
    """What a store fails, one line for each check; nothing where it will serve. Every check has a
    place of its own, named by the prefix and a number."""
    failures = []
    for number, check in enumerate(CHECKS):
        name = check.__name__.replace("_", " ")
        with Fresh(open_, f"{prefix}{number}") as fresh:
            try:
                check(fresh)
            except (Unfit, KedgeError, *FAULTS) as error:
                failures.append(f"{name}: {error or type(error).__name__}")
    return failures
