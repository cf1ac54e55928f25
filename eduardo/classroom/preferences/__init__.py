"""Education Dialogue in the embedded classroom: a student with preferences, a judge by rules, scripted teachers."""
