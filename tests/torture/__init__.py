"""The living session under faults: killed, cut off, out of space, written by many at once.

A check is a module of this folder with a function `check` that gives an `Outcome`. It runs in a
process of its own (`python -m tests.torture kill '{"seed": 1, …}'`), as it forks workers."""
