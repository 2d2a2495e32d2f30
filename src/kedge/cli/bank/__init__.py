"""`kedge bank`: the memory bank, one file per command."""
