"""Near-transfer variants of one's own problems: written by one model, checked by it and by a student."""
