"""The `fascicle` command: onboarding, inspection, signals, and the embedded stack."""
