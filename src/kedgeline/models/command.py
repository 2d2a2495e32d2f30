"""Models by name: any program behind `command:`, the host's own, and what packages register."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Protocol, cast
from weakref import finalize

from kedgeline.errors import BadSettings, BrokenPlugin, ModelFailed, UnknownName
from kedgeline.model import Ask, Reply
from kedgeline.model.ask import reported_name, words_of
from kedgeline.models.driving import POLL, Model, NotAsked
from kedgeline.settings import FAULTS, load_registered, names


def repeatable(said: str) -> str:
    """What a program or a provider said, as a message may repeat it: they know the secrets of this
    environment, and some complain with them."""
    from kedgeline.redact import Redactor, secrets_in

    return Redactor(secrets_in(os.environ)).clean(said)


PREFIX = "command:"
SECONDS = 120.0
"""Time a program has for one reply: a small local model on a slow machine needs a minute."""
LARGEST_REPLY = 1_000_000
"""Bytes of output: some fifty times what is asked for; a program that writes more has run away."""
COMPLAINT = 300
"""Characters of a program's last words on its error output that a message repeats."""
READ = 20_000
"""Bytes of them that are looked at: a secret that is taken out must be seen whole."""
BY_HAND = "run it by hand with a prompt on its standard input"
FASTER = "use a faster program or model, or allow more (model_call_seconds)"


@dataclass(frozen=True, slots=True)
class CommandModel:
    """Runs a program for each request, without a shell.

    The program gets the environment, so that is the place for keys. Names stand in reports, so its
    name is that of the program alone, without its path and arguments. It is stopped with all it has
    started when it takes too long."""

    arguments: tuple[str, ...]
    seconds: float = SECONDS
    """Where a request allows none of its own."""

    @classmethod
    def named(cls, text: str, /) -> CommandModel:
        """From `command:PROGRAM ARGUMENTS`, quoted as in a shell."""
        from shutil import which  # heavy, as all that has to do with processes

        try:
            arguments = tuple(shlex.split(text.removeprefix(PREFIX)))
        except ValueError as error:
            # Without the text, here and below: its arguments may hold keys.
            raise BadSettings("model 'command:…'", f"{error}; quote it as in a shell") from error
        if not arguments:
            problem = "no program is named; write command:PROGRAM, with its arguments behind it"
            raise BadSettings(f"model {PREFIX!r}", problem)
        if which(arguments[0]) is None:
            problem = f"there is no program {arguments[0]!r}; install it, or give its full path"
            raise BadSettings("model 'command:…'", problem)
        return cls(arguments)

    @property
    def name(self) -> str:
        return reported_name(PREFIX + shlex.join(self.arguments))

    def __call__(self, ask: Ask, /) -> Reply:
        from tempfile import TemporaryFile

        # Files, not pipes: neither side can block the other, however much each writes and whoever
        # else holds the output open.
        try:
            with TemporaryFile() as sent, TemporaryFile() as written, TemporaryFile() as complaints:
                sent.write(words_of(ask).encode(errors="replace"))
                sent.seek(0)
                exit_code = self._run((sent, written, complaints), ask.seconds or self.seconds)
                written.seek(0)
                text = written.read().decode(errors="replace").strip()
                complaints.seek(max(0, _size(complaints) - READ))
                said = repeatable(complaints.read(READ).decode(errors="replace"))
        except OSError as error:
            raise self._failed(str(error), "make room in the folder for temporary files") from error
        said = f" and said {said[-COMPLAINT:]!r}" if (said := " ".join(said.split())) else ""
        if exit_code:
            raise self._failed(f"it exited with {exit_code}{said}", BY_HAND)
        if not text:
            raise self._failed(f"it wrote nothing{said}", BY_HAND, kind="empty")
        return Reply(text=text, model=self.name)

    def _run(self, files: tuple[IO[bytes], IO[bytes], IO[bytes]], seconds: float) -> int:
        """Run the program to its end: its exit code."""
        from subprocess import Popen, TimeoutExpired

        deadline = time.monotonic() + seconds
        try:
            process = Popen(self.arguments, 0, None, *files, start_new_session=True)
        except (OSError, ValueError) as error:
            why = f"it cannot be started: {error}"
            next_step = "install the program, or give its full path"
            raise NotAsked(self.name, why, next_step=next_step) from error
        # Nobody waits for an abandoned request when the program around ends.
        left_behind = finalize(process, _kill, process.pid)
        try:
            while process.returncode is None:
                if time.monotonic() > deadline:
                    why = f"it took more than {seconds:g} seconds"
                    raise self._failed(why, FASTER, kind="timed out")
                with suppress(TimeoutExpired):
                    process.wait(POLL)
                if any(_size(file) > LARGEST_REPLY for file in files[1:]):
                    why = f"it wrote more than {LARGEST_REPLY:,} bytes"
                    raise self._failed(why, "make it write its reply alone", kind="too large")
        finally:
            if process.returncode is None:
                _kill(process.pid)
                process.wait()
            left_behind.detach()
        return process.returncode

    def _failed(self, why: str, next_step: str, *, kind: str = "failed") -> ModelFailed:
        return ModelFailed(self.name, why, next_step=next_step, kind=kind)


def _kill(group: int) -> None:
    """End a program with what it has started; it has a session of its own."""
    from signal import SIGKILL

    with suppress(ProcessLookupError, PermissionError):  # it ended just now
        os.killpg(group, SIGKILL)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


GROUP = "kedgeline.models"
USUAL = ("anthropic", "openai", "google", "command")
"""Named first where nothing is near to what was typed: there are dozens."""


class Kind(Protocol):
    """What is registered under the word before the colon."""

    def named(self, text: str, /) -> Model:
        """The model that the whole name stands for, `command:ollama run llama` for example."""


def model_named(text: str) -> Model:
    kind = text.partition(":")[0]
    if kind not in names(GROUP):
        raise _unknown(text)
    found = cast(Kind, load_registered(GROUP, "model", kind, needs=("named",)))
    try:
        return found.named(text)
    except FAULTS as error:
        why = repeatable(str(error)) or type(error).__name__
        raise BrokenPlugin(kind, reported_name(text), why=why) from error


def _unknown(text: str) -> UnknownName:
    """It names the likeliest. Of what was typed only the kind is shown: the rest may hold a key."""
    from difflib import get_close_matches

    kind, colon, _ = text.partition(":")
    known = names(GROUP)
    shown = get_close_matches(kind.lower(), known) or [name for name in USUAL if name in known]
    forms = tuple(f"{name}:…" for name in shown)
    return UnknownName(
        "model", f"{kind}:…" if colon else kind, known=forms, more=len(known) - len(shown)
    )


# A model whose replies are written beforehand.

Line = str | Reply | ModelFailed
"""What a script says: a reply, or the failure to be raised in its place."""


class Scripted:
    """Replies in the order of a script, or by a rule; remembers what it was asked.

    A model for tests and for trying things out: it gives the same replies every time."""

    def __init__(self, script: Iterable[Line] | Callable[[Ask], Line], *, name: str = "scripted"):
        self.name = name
        self.asks: list[Ask] = []
        self._rule = script if callable(script) else None
        self._lines = () if callable(script) else tuple(script)

    def __call__(self, ask: Ask, /) -> Reply:
        self.asks.append(ask)
        line = self._rule(ask) if self._rule else self._line()
        if isinstance(line, ModelFailed):
            raise line
        return line if isinstance(line, Reply) else Reply(text=line, model=self.name)

    def _line(self) -> Line:
        if len(self.asks) > len(self._lines):
            why = f"its script has {len(self._lines)} replies, and this is request {len(self.asks)}"
            raise ModelFailed(self.name, why, next_step="write a longer script")
        return self._lines[len(self.asks) - 1]
