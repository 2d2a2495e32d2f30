"""Making probes from the facts of folded turns."""

from kedge.probes.making.every import again, probes_of
from kedge.probes.making.rations import RATIONS

__all__ = ["RATIONS", "again", "probes_of"]
