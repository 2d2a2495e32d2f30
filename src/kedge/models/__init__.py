"""Language models behind one small protocol, the drivers that run steps with them, and what stands
between the two."""

from kedge.models.calling import name_of
from kedge.models.command import CommandModel
from kedge.models.driving import (
    AsyncModel,
    Model,
    Stop,
    awaited,
    drive,
    drive_async,
    threaded,
)
from kedge.models.guarding import guarded
from kedge.models.host import HostModel
from kedge.models.metering import Meter
from kedge.models.patience import Patience
from kedge.models.registry import Kind, model_named
from kedge.models.scripted import Scripted
from kedge.models.terms import TERMS, Terms

__all__ = [
    "TERMS",
    "AsyncModel",
    "CommandModel",
    "HostModel",
    "Kind",
    "Meter",
    "Model",
    "Patience",
    "Scripted",
    "Stop",
    "Terms",
    "awaited",
    "drive",
    "drive_async",
    "guarded",
    "model_named",
    "name_of",
    "threaded",
]
