"""What a model is asked about folded turns, and what of its words is taken."""
