"""From readings to facts: what the devices say, debounced and put together."""
