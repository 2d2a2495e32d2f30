"""What test runners count."""
