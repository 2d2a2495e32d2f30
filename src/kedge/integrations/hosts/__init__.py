"""What kedge needs of a host, and how each host wants it written."""
