"""The words that hosts are given, one file each."""

from __future__ import annotations

from functools import cache


@cache
def text_named(name: str) -> str:
    from importlib.resources import files

    return files("kedge.integrations.hosts.texts").joinpath(name).read_text("utf-8")
