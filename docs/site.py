"""Hooks of mkdocs: pages that stand at the top of the repository come along, links to them hold,
and a built page asks for nothing from the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
BESIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
    "plugins/README.md": "plugins.md",
}
"""Pages that are not in docs/, and what they are called on the site."""
TABLES = {
    "measurements",
    "reference",
    "architecture",
    "changelog",
    "seeds",
    "command-line",
}
"""Pages that have nearly every word: they come behind those that explain one."""
FIRST = {"tasks": 8.0, "json": 2.0, "recall": 2.0, "sessions": 2.0, "concepts": 2.0}
"""Pages that say where something is, or that are what most words of a search are about."""
SHIM = "https://unpkg.com/iframe-worker/shim"
"""Search on pages of the disk needs it; the theme would fetch it from the network."""
NAMED_BLOCK = re.compile(r"^```(\w+) [\w.]+$", re.MULTILINE)
"""A snippet that says which framework runs it; Markdown of the site knows the language alone."""
ASKED = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(https?:[^"'\s>]+)""")


def on_files(files: Files, config: Any) -> Files:
    for source, name in BESIDE.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, name, content=_with_links(text, Path(source).parent)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    name = page.file.src_uri.removesuffix(".md")
    page.meta["search"] = {"boost": 0.3 if name in TABLES else FIRST.get(name, 1.0)}
    markdown = NAMED_BLOCK.sub(r"```\1", markdown)
    if page.file.src_uri in BESIDE.values():
        return markdown
    return _with_links(markdown, Path("docs"))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    output = output.replace(SHIM, f"{'../' * page.url.count('/')}assets/iframe-worker.js")
    if asked := [found for found in ASKED.findall(output) if 'rel="canonical"' not in found]:
        raise PluginError(f"{page.file.src_uri} asks for {asked[0]}")
    return output


def _with_links(text: str, folder: Path) -> str:
    """Links of a page in a folder of the repository, as the site has these pages."""

    def led(found: re.Match[str]) -> str:
        path, _, place = found[1].partition("#")
        target = (ROOT / folder / path).resolve()
        if not path or not target.is_relative_to(ROOT):
            return found[0]
        name = target.relative_to(ROOT).as_posix()
        name = BESIDE.get(name, name.removeprefix("docs/"))
        return f"]({name}{'#' if place else ''}{place})"

    return re.sub(r"\]\(([^):]+)\)", led, text)
