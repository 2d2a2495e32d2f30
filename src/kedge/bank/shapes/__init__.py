"""How entries are written in bank files, read and written back to the byte."""

from kedge.bank.shapes.protocol import Shape
from kedge.bank.shapes.reading import new_file, read_document, shape_named, with_entry

__all__ = ["Shape", "new_file", "read_document", "shape_named", "with_entry"]
