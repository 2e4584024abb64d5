"""Pure rules and types: the standard library and pydantic only, no clock, no I/O."""
