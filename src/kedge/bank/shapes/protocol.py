"""What a shape of bank files can do."""

from __future__ import annotations

from typing import Protocol

from kedge.bank.values import Document, NewEntry, Reference


class Shape(Protocol):
    @property
    def name(self) -> str: ...

    def recognises(self, text: str) -> bool:
        """Whether a file is written like this, by its content."""

    def read(self, name: str, text: str) -> Document:
        """All of the text in pieces. Raises BankMalformed with the line where it is broken."""

    def entry(self, new: NewEntry, document: Document) -> str:
        """An entry as this file has them, blank lines behind it included."""

    def reference(self, reference: Reference, document: Document) -> str:
        """One line that stands for archived entries, and that `read` finds again."""

    def head(self, title: str) -> str:
        """How a new file begins."""
