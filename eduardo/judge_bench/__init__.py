"""How far a judge can be trusted: labelled transcripts, put to it as in training."""
