"""T-D8: no clock decides anything."""

from __future__ import annotations

import pytest

from tests.torture import clock
from tests.torture.outcome import assert_sound, keep

NORMAL, TORTURE = 100, 1_000


def test_the_order_is_that_of_the_numbers_whatever_the_clock_says() -> None:
    """opencode#17255, opencode#28618, opencode#40432: ids by the clock put messages into the wrong
    order and made a loop. ori-runtime#628: a time to come stopped all compactions."""
    assert_sound(clock.check(seed=1, cases=NORMAL).ended())


@pytest.mark.torture
def test_the_order_is_that_of_the_numbers_in_many_sessions() -> None:
    assert_sound(keep("clock", clock.check(seed=2, cases=TORTURE).ended()))


def test_the_check_finds_an_order_by_time() -> None:
    assert clock.check(seed=3, cases=len(clock.CLOCKS), plant="by time").violations
