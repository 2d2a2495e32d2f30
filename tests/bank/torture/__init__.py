"""The files of a bank under faults: killed, cut off, out of space, written by many at once.

A check is a module of this folder with a function `check`, as in tests/torture."""
