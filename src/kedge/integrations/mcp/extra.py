"""What the server needs beside kedge itself."""

from __future__ import annotations

from kedge.errors import MissingExtra


def check_extra() -> None:
    """Say how to install what the server needs, where it is not there."""
    try:
        import uvicorn  # noqa: F401
        from mcp.server import MCPServer  # noqa: F401
    except ImportError as error:
        raise MissingExtra("the MCP server", "mcp") from error
