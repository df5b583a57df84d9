"""Publishes the ledger over MQTT."""
