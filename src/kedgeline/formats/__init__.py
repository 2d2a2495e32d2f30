"""INGEST: bytes of any agent's session into turns, and turns back into a provider's messages."""

from kedgeline.formats.log import Log
from kedgeline.formats.registry import (
    FileHead,
    Format,
    Grows,
    HasCompanions,
    Provider,
    Written,
    format_names,
    is_provider,
    load_format,
    load_provider,
    provider_names,
    recognise,
)
from kedgeline.formats.session import GrowingSession

__all__ = [
    "FileHead",
    "Format",
    "GrowingSession",
    "Grows",
    "HasCompanions",
    "Log",
    "Provider",
    "Written",
    "format_names",
    "is_provider",
    "load_format",
    "load_provider",
    "provider_names",
    "recognise",
]
