"""The middle turn: the tutor answers in place of a human teacher, and both answers are scored."""
