"""Hands in formats of others."""
