"""Simulated devices that speak the real wire protocols, and the rigs that rehearse a table with them."""
