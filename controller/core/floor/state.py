"""What is on record about the table beside its hands. Only ``evolve`` changes it."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Floor:
    """Attested for this hand only, deck, button draw, counts, overrides and what people reported."""

    this_hand: set[str] = field(default_factory=set)
    """Rules that were attested for the coming hand alone."""
    deck: str = ""
    """The deck in play; ``""``: the one of the configuration."""
    verified: bool = False
    """The deck was laid face up before players, or audited, and all 52 cards were there (HR-10.2)."""
    recount: bool = False
    """The cards of the button draw are out: the deck is counted before the deal (HR-A20)."""
    deck_out: bool = False
    """A card was missing or there twice: this deck leaves the table (I-11, I-12)."""
    drawn: bool = False
    """The button was drawn (HR-10.4)."""
    counts: int = 0
    """Counts of the tray on this gaming day: each has a number of its own."""
    opener: str | None = None
    closer: str | None = None
    signed: tuple[str, ...] = ()
    """Who signed the newest count, as ``staff:role``."""
    tray: int | None = None
    """What the tray should hold by the book, in minor units; ``None`` where it was never counted."""
    running: str = ""
    """The hash of the configuration that this run brought; ``""``: nobody has to confirm it."""
    confirmed: str = ""
    """The hash of the configuration that two persons have confirmed."""
    confirmed_by: tuple[str, ...] = ()
    """Who has confirmed the running one, as ``staff:role``."""
    overrides: dict[str, str] = field(default_factory=dict)
    """Rule -> until when play goes on against it: ``hand`` ``shift`` ``session``."""
    reported: set[str] = field(default_factory=set)
    """Rules that somebody reported broken and that bar the next hand until they are kept."""
