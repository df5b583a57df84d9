"""Rule ids behind what is asked of the money. ``breaches.ids`` reads them with the others."""

Ids = tuple[str, ...]
TRAY: dict[str, Ids] = {"HR": ("HR-6.2",)}

CASH: dict[str, dict[str, Ids]] = {
    "fills_held": TRAY,
    "recount_due": TRAY,
    "slip_by": {},
    "slip_signatures": {},
    "slip_open": {},
    "box_differs": {},
    "adjustment_by": {"HR": ("HR-22.1", "CM-23"), "BG": ("CM-23",), "RS": ("CM-23",), "LT": ("CM-23",)},
    "adjusted_in_hand": {"HR": ("HR-9.3", "CM-22"), "BG": ("CM-22",), "RS": ("CM-22",), "LT": ("CM-22",)},
}
"""By breach key and family; empty where the text is silent and the duty is the house's."""
