"""The pure core: no IO, no clock, no thread, no random. The same inputs give the same records."""
