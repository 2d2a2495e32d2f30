"""Finding the turns that matter."""

from kedgeline.anchors.finder import (
    PROFILES,
    THRESHOLD,
    Detector,
    Finder,
    detect_historical_anchors,
    registered_detectors,
    synthetic_checkpoint,
)

__all__ = [
    "PROFILES",
    "THRESHOLD",
    "Detector",
    "Finder",
    "detect_historical_anchors",
    "registered_detectors",
    "synthetic_checkpoint",
]
