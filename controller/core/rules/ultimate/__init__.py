"""Ultimate Texas Hold'em: boxes against the house, by the Lithuanian rules (LT)."""
