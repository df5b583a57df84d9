"""The three ways to rehearse: facts (no devices), virtual (one process, fake clock), wires (processes)."""
