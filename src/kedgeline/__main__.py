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
    import signal

    from kedgeline.cli.main import run_program

    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)
    run_program()


def end(number: int, _: object) -> None:
    """End as an error does, so that what was started or locked is ended or released: a program
    that is asked as a model has a session of its own and gets no signal."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
