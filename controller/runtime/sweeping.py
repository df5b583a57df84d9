"""How Python's collector of cyclic garbage is kept out of the way of a reading."""

import gc

_SWEEP_AFTER = 10_000
"""Objects made and not freed until the youngest are looked through; Python's own choice is 700."""


def settle() -> None:
    """Call it once, when all is loaded and made that stays: it is never looked through again.

    A full sweep took 50 ms with it, and a key can come just then. Little of ours is cyclic, so that sweeps of the rest
    may be seldom; what is not cyclic is freed at once anyway.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_SWEEP_AFTER, *gc.get_threshold()[1:])
