"""The viewer: a session as pages in a browser, by a server of this machine or in one file."""
