"""Whether what is kept is what was written: what is damaged, what is lost, what is made good."""

from kedge.checking.checking import Watch, check
from kedge.checking.entries import faults
from kedge.checking.repairing import repair

__all__ = ["Watch", "check", "faults", "repair"]
