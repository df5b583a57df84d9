"""Fuzzing: any bytes from any device, and any readings at the core. See ``make fuzz``."""
