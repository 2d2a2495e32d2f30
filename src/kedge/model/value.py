"""The base of every value: frozen, keyword-only, cheap for the garbage collector."""

from __future__ import annotations

from typing import Any

import msgspec

Wire = dict[str, Any]
"""Fields a provider wrote that have no place in our values; kept only to write them back."""


class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=False):
    """Values form no cycles, so the collector need not track them."""
