"""The library beneath Fascicle: rules, sites, storage and runtime. It knows nothing of workflows."""
