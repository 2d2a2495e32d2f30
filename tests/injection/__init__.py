"""Text from tools and the web cannot become an instruction, a decision or a user statement."""
