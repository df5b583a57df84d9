"""The house rules, decks and chips as data. ``importlib.resources.files("config")`` finds them once installed."""
