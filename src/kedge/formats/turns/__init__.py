"""Messages into turns: the same for every format."""
