"""`python -m kedge`."""

from kedge.cli.main import run

run()
