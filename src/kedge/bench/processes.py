"""Work in a process of its own, with what it took."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from kedge.errors import SourceUnreadable

MEGABYTE = 1_000_000


def child(arguments: list[str]) -> tuple[float, float]:
    """Run Python in a process of its own: peak memory in MB, and seconds."""
    begun = time.monotonic()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SourceUnreadable(" ".join(arguments), f"it exited with {process.returncode}")
    return used.ru_maxrss * 1024 / MEGABYTE, time.monotonic() - begun
