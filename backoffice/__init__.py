"""The subscribers' side: keeps what tables publish, finds what is missing, and proves what was kept.

It knows of the daemon nothing but the contract.
"""
