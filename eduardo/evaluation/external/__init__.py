"""Suites of others: their code is run from the user's checkout, their result files are collected."""
