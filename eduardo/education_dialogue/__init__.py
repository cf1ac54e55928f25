"""Education Dialogue: simulated lessons, cleaned for a warm start and for a second environment."""
