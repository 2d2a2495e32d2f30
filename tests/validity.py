"""Lists compared and looked at."""

from __future__ import annotations

import json
from typing import Any

from kedgeline.pipeline.view import problems

__all__ = ["problems", "same_json"]


def same_json(one: Any, other: Any) -> bool:
    """Equal to the byte: the order of keys and the kinds of numbers as well."""
    return json.dumps(one) == json.dumps(other)
