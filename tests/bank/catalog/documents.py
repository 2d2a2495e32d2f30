"""Documents for the catalog, made of pieces that are hard to cut."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

PIECES = [
    *("# Title\n", "## Part\n", "### Sub part\n\n", "Under\n=====\n", "\n", "\n\n", "\r\n"),
    *("A paragraph about boats. It goes on.\n", "日本語の段落。\n", "- item\n- item\n", "x" * 90),
    *("```py\nx = 1\n\n# no heading\n```\n", "~~~\n", "| a | b |\n|---|---|\n| c | d |\n", "```\n"),
    *("---\ntags: [one]\n---\n", "def f():\n    return 1\n\n", "class A:\n    def m(self): ...\n"),
    *("\ufeff", "\t", " ", "\x0c", "\r", "\u2028", "\x85", "#", "@deco\n", '"""doc', "}\n"),
]
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=80).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=40)), max_size=30).map("".join),
)
names = st.sampled_from(["a.md", "a.py", "a.js", "a.txt", "a"])


def project(folder: Path, documents: dict[str, str]) -> Path:
    """A project with documents and an empty bank; the bank's folder."""
    for name, text in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    bank = folder / "bank"
    bank.mkdir(exist_ok=True)
    return bank


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
