"""Time as a session sees it pass."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    def __init__(self, start: str) -> None:
        self.now = datetime.fromisoformat(start).replace(tzinfo=UTC)

    def tick(self, milliseconds: int) -> Clock:
        """Let time pass."""
        self.now += timedelta(milliseconds=milliseconds)
        return self

    def jump(self, moment: str) -> None:
        """Go on at a later moment, as after a break."""
        later = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        if later <= self.now:
            raise ValueError(f"{moment} is not after {self.now}")
        self.now = later

    def iso(self) -> str:
        """As JavaScript writes it, to the millisecond."""
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def millis(self) -> int:
        return int(self.now.timestamp() * 1000)
