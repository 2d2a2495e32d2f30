"""Session files of agents and their clients."""
