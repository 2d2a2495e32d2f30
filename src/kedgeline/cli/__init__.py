"""The command line, in files by subject; `main` lists the commands."""
