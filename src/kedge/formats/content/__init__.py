"""What stands in messages: blocks, calls, and whose words they are."""
