"""Bytes into records: lines, documents, what broke, and the beginning a format is recognised by."""
