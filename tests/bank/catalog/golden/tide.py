"""The tide of a day."""

HOURS = 24


class Tide:
    """Water that comes and goes."""

    def height(self, hour: int) -> int:
        """Metres over the ground."""
        return hour % 12
