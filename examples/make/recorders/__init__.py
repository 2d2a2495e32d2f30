"""One recorder per transcript format."""
