"""All checks in a row."""

from __future__ import annotations

from kedgeline.errors import KedgelineError
from kedgeline.settings import FAULTS
from tests.store.conformance import adding, finding, holding, keeping, placing, searching
from tests.store.conformance.fresh import Fresh, Opening, Unfit

CHECKS = tuple(
    check
    for module in (adding, holding, placing, finding, searching, keeping)
    for name, check in vars(module).items()
    if getattr(check, "__module__", "") == module.__name__ and not name.startswith("_")
)
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
            except (Unfit, KedgelineError, *FAULTS) as error:
                failures.append(f"{name}: {error or type(error).__name__}")
    return failures
