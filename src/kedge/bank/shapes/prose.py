"""Files without entries: patterns, the product, whatever else people write down."""

from __future__ import annotations

from kedge.bank.shapes.blocks import quoted_reference
from kedge.bank.shapes.dated import Dated
from kedge.bank.shapes.markdown import marks
from kedge.bank.values import Document, NewEntry, Other, Reference


class Prose:
    name = "prose"

    def recognises(self, text: str) -> bool:
        return True

    def starts(self, text: str) -> None:
        """It has no entries."""

    def read(self, name: str, text: str) -> Document:
        """All of it as one piece, whatever it is: nothing of it is ever moved."""
        pieces = (Other(text=text, line=1),) if text else ()
        return Document(name=name, shape=self.name, pieces=pieces, order="oldest_first")

    def entry(self, new: NewEntry, document: Document) -> str:
        """Dated, which makes a dated file of it. Raises BankMalformed where an open code block
        would swallow the entry."""
        for _ in marks(document.name, document.text):
            pass
        return Dated().entry(new, document)

    def reference(self, reference: Reference, document: Document) -> str:
        return quoted_reference(reference, document)

    def head(self, title: str) -> str:
        return f"# {title}\n\n"
