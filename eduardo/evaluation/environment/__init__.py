"""The environment test: dialogues with the student as in training, then its post-test."""
