"""What probes find in summaries of real sessions, and whether they notice a summary gone wrong."""
