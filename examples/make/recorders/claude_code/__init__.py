"""Claude Code session files, as the client writes them."""
