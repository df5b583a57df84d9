"""How much money one word may name: so far above any table that it only ever stops a mistake."""

MOST = 10**12
"""The largest amount, count or limit that a person or a file may name, in minor units.

Thousands of such amounts still add up below 2**53, the largest whole number that every reader of JSON keeps exactly.
"""
