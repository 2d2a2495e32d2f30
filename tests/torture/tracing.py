"""A child whose system calls strace kills or lets fail."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.torture.outcome import Skipped
from tests.torture.workers import forked, lines_of

PTRACER, ANYONE = 0x59616D61, -1
"""Of prctl: lets a process that is not its parent trace it."""
_NAME = re.compile(r"^(?:\d+ +)?(\w+)\(")


class Rule(NamedTuple):
    """What strace does."""

    calls: Sequence[str]
    """System calls that are looked at."""
    inject: str = ""
    """What happens to which of them, as strace takes it."""
    paths: Sequence[str] = ()
    """Only calls on these."""
    log: Path | None = None


class Traced:
    """A forked worker that begins when strace has hold of it. It is given a pipe to write to and
    one to wait at."""

    def __init__(self, worker: Callable[[int, int], None], rule: Rule) -> None:
        if shutil.which("strace") is None:
            raise Skipped("strace is not installed")
        waiting, self._going = os.pipe()

        def held(pipe: int) -> None:
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(PTRACER, ANYONE)
            os.write(pipe, b"held\n")
            os.read(waiting, 1)
            worker(pipe, waiting)

        self.process, self.pipe = forked(held)
        os.close(waiting)
        lines_of(self.pipe, 1)
        self._strace: subprocess.Popen[bytes] | None = self._attached(rule)
        self.go()

    def go(self) -> None:
        with suppress(BrokenPipeError):
            os.write(self._going, b"g")

    def detach(self) -> None:
        """Let the worker go on without faults."""
        if self._strace is not None:
            with suppress(ProcessLookupError):
                self._strace.send_signal(signal.SIGINT)
            self._strace.communicate()
            self._strace = None

    def ended(self) -> int:
        """The signal, or 0, with which the worker ended."""
        _, status = os.waitpid(self.process, 0)
        self.detach()
        os.close(self._going)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0

    def _attached(self, rule: Rule) -> subprocess.Popen[bytes]:
        command = ["strace", "-f", "-p", str(self.process), "-o", str(rule.log or os.devnull)]
        command += ["-e", f"trace={','.join(f'?{call}' for call in rule.calls)}"]
        command += ["-e", f"inject={rule.inject}"] if rule.inject else []
        command += [word for path in rule.paths for word in ("-P", path)]
        started = subprocess.Popen(command, stderr=subprocess.PIPE)
        assert started.stderr is not None
        said = b""
        while b"attached" not in said:
            line = started.stderr.readline()
            said += line
            if not line:
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                started.communicate()
                raise Skipped(f"strace cannot trace here: {said.decode(errors='replace')}")
        return started


def counted(
    worker: Callable[[int, int], None], calls: Sequence[str], log: Path, paths: Sequence[str] = ()
) -> Counter[str]:
    """How often each system call is made."""
    traced = Traced(worker, Rule(calls, paths=paths, log=log))
    traced.go()
    for _ in traced.pipe.lines():
        pass
    traced.ended()
    found = map(_NAME.match, log.read_text("utf-8", "replace").splitlines())
    return Counter(match[1] for match in found if match)
