"""kedge in the hands of coding agents."""
