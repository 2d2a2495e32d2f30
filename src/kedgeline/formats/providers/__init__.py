"""Message lists of model APIs, read and written back, and what their formats share."""
