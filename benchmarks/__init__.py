"""Measures, run by ``make bench`` and ``make soak``. Not part of the package."""
