"""Claims of a model's prose, checked by code: what the turns do not hold is dropped and counted."""

from kedge.wording.claims.checking import checked

__all__ = ["checked"]
