"""The table beside its hands: opening and closing, people, deck, button, seats, chips, settings, attestations."""
