"""Side effects: one class per capability, its clients injected."""
