"""Writes the plugin of every host into a folder: `python -m kedge.integrations.hosts.generate
plugins`; a test compares."""

from __future__ import annotations

import sys
from pathlib import Path

from kedge.integrations.hosts import claude_code, codex
from kedge.integrations.hosts.known import HOSTS
from kedge.integrations.hosts.wording import text_named


def plugins() -> dict[str, str]:
    """Every file by its path below the folder."""
    files = {f"{host.name}/{path}": text for host in HOSTS for path, text in host.plugin().items()}
    return {
        "README.md": text_named("plugins.md"),
        **claude_code.marketplace(),
        **codex.marketplace(),
        **files,
    }


def main(folder: Path) -> None:
    """Write every file; what is made no more is for whoever runs this to remove."""
    for name, text in plugins().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
