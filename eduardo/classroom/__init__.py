"""The embedded default: a simulated student and judge, starter problems and a tiny tutor. A simulation."""
