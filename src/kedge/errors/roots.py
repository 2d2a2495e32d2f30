"""The roots of the tree: what all errors of kedge are."""

from __future__ import annotations


class KedgeError(Exception):
    """Root of the tree: `except KedgeError` catches all of it and nothing else."""

    exit_code = 1
    """What the command line exits with."""


class UserError(KedgeError):
    exit_code = 2
