"""The words that hosts are given, one file each."""
