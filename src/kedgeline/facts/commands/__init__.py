"""Commands that were run, and actions outside of a shell."""
