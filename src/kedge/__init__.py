"""kedge: anchored context compaction for LLM agents."""

from kedge.errors import KedgeError
from kedge.formats import format_names, provider_names
from kedge.model import ToolCall, ToolResult, Transcript, Turn
from kedge.reading import Reading, read, read_all, stream
from kedge.settings import Settings, load_settings
from kedge.stats import Stats, stats_of
from kedge.writing import write

__all__ = [
    "KedgeError",
    "Reading",
    "Settings",
    "Stats",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Turn",
    "format_names",
    "load_settings",
    "provider_names",
    "read",
    "read_all",
    "stats_of",
    "stream",
    "write",
]
