"""The requirements of the four seeds as checks: `@row` says what is asked for, and how it stands.

A row without more works. One that deviates on purpose says why, and its check holds what is there
instead. One that is owed in part, or as a whole, has the check of what is asked for, which fails;
once it passes, the row must say so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

ROWS = {"000": 40, "001": 58, "002": 50, "003": 50}
"""Requirements of each seed."""
NUMBER = re.compile(r"test_(\d{3})\.py::test_(\d{2})_")

Check = Callable[..., Any]


def row(
    requirement: str, *, deviates: str = "", partly: str = "", owed: str = ""
) -> Callable[[Check], Check]:
    """A requirement, whose number is that of the file and the function."""

    def marked(check: Check) -> Check:
        mark = "deviates" if deviates else "partly" if partly else "not" if owed else "works"
        reason = deviates or partly or owed
        if partly or owed:
            check = pytest.mark.xfail(strict=True, reason=reason)(check)
        return pytest.mark.seed(requirement, mark, reason)(check)

    return marked
