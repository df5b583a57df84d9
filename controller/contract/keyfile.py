"""How a key for rehearsals is told from one for live play: a line before the PEM, where readers of PEM skip it."""

TEST_KEY = b"felt-test: signs rehearsals, never live play\n"
