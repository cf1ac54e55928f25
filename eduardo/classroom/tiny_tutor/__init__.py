"""A tutor policy small enough to train on a laptop, and its warm start."""
