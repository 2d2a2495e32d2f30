"""What was said: requests, rules, decisions, questions."""
