"""`kedgeline`, and `python -m kedgeline`."""

from __future__ import annotations

import sys


def main() -> None:
    """What hosts call at every step must not wait for what it does not need."""
    called, options = sys.argv[1:2], sys.argv[2:]
    if called == ["hook"] and not {"-h", "--help"} & set(options):
        from kedgeline.hosts.hook import main as hook

        hook(options)
    if called == ["statusline"] and not options:
        from kedgeline.hosts.hook import status_line

        status_line()
    if called == ["host-compact"] and len(options) == 1 and not options[0].startswith("-"):
        from kedgeline.hosts.replacement import main as host_compact

        host_compact(options[0])
    from kedgeline.cli.main import run_program

    run_program()


if __name__ == "__main__":
    main()
