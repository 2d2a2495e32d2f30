"""How a host starts kedge."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

NAME = "kedge"
HOST = "--host="
"""Before the name of the host that runs a command: each understands other answers."""
AS_MODULE = ("-P", "-m", NAME)
"""How Python starts it; without the modules of the folder that a host is in."""


class Launch(NamedTuple):
    """The words that start kedge."""

    words: tuple[str, ...]

    def argv(self, *more: str) -> list[str]:
        return [*self.words, *more]

    def program(self, *more: str) -> dict[str, Any]:
        """For hosts that start a program with arguments, without a shell between."""
        first, *rest = self.argv(*more)
        return {"command": first, "args": rest}

    def line(self, *more: str) -> str:
        """For hosts that hand a line to a shell."""
        return shlex.join(self.argv(*more))


BY_NAME = Launch((NAME,))
"""What everybody finds on the PATH: for files that several people share."""


def installed(search: str | None = None) -> Launch:
    """This very kedge, by its path: a host may have another PATH than the shell it came from.

    A name on the PATH that leads to it is taken before the place it leads to: it outlives the next
    version of Python."""
    own = Path(sys.executable).with_name(NAME)
    if not os.access(own, os.X_OK):
        return Launch((sys.executable, *AS_MODULE))
    found = shutil.which(NAME, path=search)
    if found and os.path.isabs(found) and os.path.realpath(found) == os.path.realpath(own):
        return Launch((found,))
    return Launch((str(own),))
