"""What kedgeline does when a coding agent calls."""
