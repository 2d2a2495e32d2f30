"""What a living session is made of: its journal, what is appended to it, what is loaded of it."""
