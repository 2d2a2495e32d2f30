"""Long texts cut to what tells most of them."""

from kedge.shortening.shortening import Count, shortened

__all__ = ["Count", "shortened"]
