"""What kedge needs of a host, merged into its settings and taken out again."""
