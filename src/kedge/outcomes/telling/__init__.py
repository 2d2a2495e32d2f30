"""The telling lines of an output: what went wrong, and where."""
