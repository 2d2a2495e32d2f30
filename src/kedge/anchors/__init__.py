"""Finding the turns that matter."""

from kedge.anchors.detector import Detector
from kedge.anchors.finder import (
    Finder,
    detect_historical_anchors,
    registered_detectors,
    synthetic_checkpoint,
)
from kedge.anchors.profiles import PROFILES, THRESHOLD

__all__ = [
    "PROFILES",
    "THRESHOLD",
    "Detector",
    "Finder",
    "detect_historical_anchors",
    "registered_detectors",
    "synthetic_checkpoint",
]
