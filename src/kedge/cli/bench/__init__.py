"""`kedge bench`: the measurements, in files by what they are about; `main` lists them in order.

A new one is a function in the file that fits it (what the host of a coding agent sees of kedge:
`hosts`), with its name in `main`."""
