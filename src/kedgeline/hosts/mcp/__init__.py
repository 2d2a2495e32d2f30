"""A server of the Model Context Protocol: sessions that are kept, in the hands of any agent."""

from __future__ import annotations

from kedgeline.errors import MissingExtra

__all__ = ["check_extra"]


def check_extra() -> None:
    """Say how to install what the server over HTTP needs, where it is not there."""
    try:
        from mcp.server import MCPServer  # noqa: F401
    except ImportError as error:
        raise MissingExtra("the MCP server over HTTP", "mcp") from error
