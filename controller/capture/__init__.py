"""Captures: what every device said, byte for byte, and all that entered the core, in order; and playing that again."""
