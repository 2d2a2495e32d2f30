"""One file per detector."""
