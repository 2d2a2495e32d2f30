"""Language models behind one small protocol, the drivers that run steps with them, and what stands
between the two."""

from kedgeline.models.command import CommandModel, Kind, Scripted, model_named
from kedgeline.models.driving import (
    TERMS,
    AsyncModel,
    Meter,
    Model,
    ModelPatience,
    Stop,
    Terms,
    awaited,
    drive,
    drive_async,
    guarded_step,
    name_of,
)

__all__ = [
    "TERMS",
    "AsyncModel",
    "CommandModel",
    "Kind",
    "Meter",
    "Model",
    "ModelPatience",
    "Scripted",
    "Stop",
    "Terms",
    "awaited",
    "drive",
    "drive_async",
    "guarded_step",
    "model_named",
    "name_of",
]
