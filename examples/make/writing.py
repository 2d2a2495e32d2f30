"""How samples are written to files."""

from __future__ import annotations

import json
from typing import Any


def json_lines(records: list[dict[str, Any]]) -> str:
    """One record on a line, as compact as clients write it."""
    return "".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records
    )


def json_document(value: Any) -> str:
    """One value, indented by two."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
