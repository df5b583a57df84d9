"""What the core raises: only local mistakes. A broken house rule is a record, not an exception."""

from controller.errors import LocalError


class BadCommand(LocalError):
    """A command that cannot be read: the field, its value and the remedy are named, the state is unchanged."""
