"""The ear of the soak excuses a killed broker, and nobody else."""

from tests.soak.office import Heard


def _hears(*said: str) -> Heard:
    """``c3``: connection 3 is born; ``k3``: a broker died, the last connection was 3; ``7``: event 7 of ``play``."""
    heard = Heard()
    for word in said:
        if word[0] == "c":
            heard.born(int(word[1:]))
        elif word[0] == "k":
            heard.broker_killed(int(word[1:]))
        else:
            heard.event("play", int(word), f"digest {word}")
    return heard


def test_events_in_order_and_again_are_right() -> None:
    heard = _hears("c1", "1", "2", "3", "c2", "2", "3", "4")
    assert heard.faults == []
    assert (heard.repeated, heard.holes, len(heard.digests)) == (2, 0, 4)


def test_what_a_killed_broker_lost_is_missing_once() -> None:
    heard = _hears("c1", "1", "2", "k1", "c2", "5", "6")
    assert (heard.faults, heard.holes) == ([], 2)


def test_what_a_dead_broker_had_saved_is_heard_late_and_excuses_nothing_by_itself() -> None:
    assert _hears("c1", "1", "k1", "2", "3", "c2", "6").faults == []
    assert len(_hears("c1", "1", "k1", "2", "5", "c2", "6").faults) == 1


def test_two_kills_between_two_events_are_no_fault() -> None:
    assert _hears("c1", "1", "k1", "k3", "c4", "9").faults == []


def test_a_jump_within_a_connection_is_a_fault() -> None:
    assert len(_hears("c1", "1", "2", "5").faults) == 1
    assert len(_hears("c1", "1", "k1", "c2", "2", "5").faults) == 1


def test_a_jump_at_a_connection_that_no_kill_made_is_a_fault() -> None:
    assert len(_hears("c1", "1", "2", "c2", "5").faults) == 1
    assert len(_hears("c1", "1", "k1", "c2", "2", "c3", "5").faults) == 1


def test_other_order_and_other_bytes_are_faults() -> None:
    assert len(_hears("c1", "1", "k1", "c2", "3", "2").faults) == 1
    heard = _hears("c1", "1")
    heard.event("play", 1, "other")
    assert len(heard.faults) == 1
