"""A living session: what is said goes into the store first; compactions are records, the view a
fold."""
