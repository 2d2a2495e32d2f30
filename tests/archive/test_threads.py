"""Values read by several threads from the first moment on."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading

from kedgeline.session.archive import packed, unpacked
from kedgeline.model import Transcript

sys.setswitchinterval(1e-6)
data = packed(Transcript(format="kedgeline")).data
together = threading.Barrier(8)


def read():
    together.wait()
    unpacked(data, Transcript, lambda hash: b"")


threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_that_read_the_first_value_at_once_do_not_bring_the_process_down() -> None:
    """Each try is a process of its own: what is worked out once is known from then on."""
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
