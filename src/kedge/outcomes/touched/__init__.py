"""Which files a call touched."""
