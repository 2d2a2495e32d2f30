"""INGEST: bytes of any agent's session into turns, and turns back into a provider's messages."""

from kedge.formats.intake.head import Head
from kedge.formats.intake.log import Log
from kedge.formats.registry import (
    Format,
    HasCompanions,
    Provider,
    Written,
    detect,
    format_names,
    is_provider,
    load_format,
    load_provider,
    provider_names,
)

__all__ = [
    "Format",
    "HasCompanions",
    "Head",
    "Log",
    "Provider",
    "Written",
    "detect",
    "format_names",
    "is_provider",
    "load_format",
    "load_provider",
    "provider_names",
]
