"""What stands for folded turns."""
