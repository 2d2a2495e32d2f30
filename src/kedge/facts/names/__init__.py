"""Names worth remembering."""
