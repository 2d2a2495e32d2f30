"""What any store must do, as checks: each takes a `Fresh` and raises `Unfit` where a store does not
do what its name says."""

from tests.store.conformance import adding, finding, holding, keeping, placing, searching
from tests.store.conformance.fresh import Fresh, Opening, Unfit

CHECKS = tuple(
    check
    for module in (adding, holding, placing, finding, searching, keeping)
    for name, check in vars(module).items()
    if getattr(check, "__module__", "") == module.__name__ and not name.startswith("_")
)

__all__ = ["CHECKS", "Fresh", "Opening", "Unfit"]
