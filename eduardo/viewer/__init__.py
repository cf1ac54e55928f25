"""A local, read-only page over the recorded dialogues of runs and evaluations."""
