"""The story of a compaction, from reading a file to the rebuilt context."""
