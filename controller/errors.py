"""The controller's error tree: whose mistake it was decides the class."""


class FeltError(Exception):
    """Root of every error the controller raises on purpose."""


class LocalError(FeltError):
    """Our own or the operator's mistake: a setting, an argument, a file that is not as it must be.

    ``field`` names what is wrong, ``value`` what stood there, ``remedy`` what to do about it.
    """

    def __init__(self, field: str, value: object, remedy: str) -> None:
        super().__init__(f"{field}: {value!r}: {remedy}")
        self.field = field
        self.value = value
        self.remedy = remedy


class RemoteError(FeltError):
    """A peer misbehaved: the broker, a device, a subscriber."""


class RuleBreach(FeltError):
    """An act that the house rules refuse. Nothing has changed. ``rules`` are the ids of rules.md."""

    def __init__(self, what: str, rules: tuple[str, ...] = ()) -> None:
        super().__init__(f"{what} ({', '.join(rules)})" if rules else what)
        self.what = what
        self.rules = rules
