"""What came of a repository: commits, branches, pull requests, tickets."""
