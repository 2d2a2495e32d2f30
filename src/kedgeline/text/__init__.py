"""Words: of the user, of others, made short, compared."""
