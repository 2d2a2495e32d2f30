"""A session as one file of JSON Lines, and back: every entry, chain and original the same."""

from kedge.exporting.exports import ExportReport, export_session
from kedge.exporting.imports import ImportReport, import_session
from kedge.exporting.redacted import Cleaning

__all__ = [
    "Cleaning",
    "ExportReport",
    "ImportReport",
    "export_session",
    "import_session",
]
