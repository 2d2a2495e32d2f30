"""Language models behind one small protocol, and the drivers that run steps with them."""

from kedge.models.command import CommandModel
from kedge.models.driving import AsyncModel, Model, drive, drive_async, threaded
from kedge.models.registry import Kind, model_named
from kedge.models.scripted import Scripted

__all__ = [
    "AsyncModel",
    "CommandModel",
    "Kind",
    "Model",
    "Scripted",
    "drive",
    "drive_async",
    "model_named",
    "threaded",
]
