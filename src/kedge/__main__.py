"""`kedge`, and `python -m kedge`."""

from __future__ import annotations

import sys


def main() -> None:
    """What hosts call at every step must not wait for what it does not need."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        from kedge.integrations.hooks.entry import main as hook

        hook(sys.argv[2:])
    from kedge.cli.main import run

    run()


if __name__ == "__main__":
    main()
