"""Settings: from the environment and `.env`, checked at start."""
