"""The house rules: pure questions and decisions about a table and a hand."""
