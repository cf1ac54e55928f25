"""A person in the dialogue: as the student of a tutor, or as the tutor of the configured student."""
