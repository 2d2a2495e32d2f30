"""What kedge does when a coding agent's host calls."""
