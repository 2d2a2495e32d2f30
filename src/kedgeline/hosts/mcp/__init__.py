"""A server of the Model Context Protocol: sessions that are kept, in the hands of any agent."""
