"""Evaluation of tutors: the dialogue loop and scorer of training, with intervals that one can publish."""
