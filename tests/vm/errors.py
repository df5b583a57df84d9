"""What can go wrong outside the machine."""


class NoMachine(Exception):
    """The machine cannot be built or does not run: this says nothing about feltd."""
