"""What a table is told before it opens: its own file, the house's profile, chips, cards and people."""
