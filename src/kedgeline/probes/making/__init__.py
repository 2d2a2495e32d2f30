"""Making probes from the facts of folded turns."""

from kedgeline.probes.making.every import RATIONS, again, probes_of

__all__ = ["RATIONS", "again", "probes_of"]
