"""Glue to verl: agent loop, advantages, trainer and the CPU platform. Needs the training stack."""
