"""A shell line as the simple commands it runs, by its grammar."""
