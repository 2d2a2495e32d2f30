"""What a command is run for."""
