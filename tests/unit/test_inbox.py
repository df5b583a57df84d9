"""The queue in front of the core: bounded, in order, and nothing that counts is dropped."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from controller.core.inputs import Notice
from controller.inbox import RESERVE, Inbox
from drivers.readings import KeyPressed, Reading, TagsSeen
from tests.waiting import wait_until


def key(number: int) -> KeyPressed:
    return KeyPressed("keys0", number, "CALL")


def tags(number: int, channel: str = "0") -> TagsSeen:
    return TagsSeen("tray0", number, channel, frozenset(), complete=True)


def test_in_order() -> None:
    inbox = Inbox()
    for number in range(5):
        assert inbox.offer(key(number))
    assert [inbox.get(0) for _ in range(6)] == [*map(key, range(5)), None]


def test_waiting_takes_nothing_and_ends_when_something_comes() -> None:
    inbox = Inbox()
    assert not inbox.wait(0.001)
    later = threading.Timer(0.02, inbox.offer, [key(1)])
    later.start()
    assert inbox.wait(10)
    assert inbox.wait(0)
    assert inbox.get(0) == key(1)
    assert not inbox.wait(0)
    later.join()


def test_the_newest_inventory_of_a_channel_replaces_the_older_one() -> None:
    inbox = Inbox()
    for item in (tags(1), key(2), tags(3, "1"), tags(4)):
        assert inbox.offer(item)
    assert [inbox.get(0) for _ in range(4)] == [key(2), tags(3, "1"), tags(4), None]
    assert inbox.coalesced == 1
    assert inbox.offer(tags(5))
    assert inbox.get(0) == tags(5)


def test_a_full_queue_refuses_keys_and_says_whose_and_loses_none() -> None:
    inbox = Inbox(size=3)
    assert [inbox.offer(key(number)) for number in range(5)] == [True, True, True, False, False]
    assert inbox.refused() == {"keys0"}
    assert inbox.refused() == set()
    assert inbox.get(0) == key(0)
    assert inbox.offer(key(3))
    assert [inbox.get(0) for _ in range(3)] == [key(1), key(2), key(3)]


def test_people_and_the_shell_are_heard_when_devices_fill_the_queue() -> None:
    inbox = Inbox(size=1)
    assert inbox.offer(key(0))
    for _ in range(RESERVE):
        assert inbox.post(Notice("link.lost"), timeout_s=0)
    assert not inbox.post(Notice("link.lost"), timeout_s=0)


def test_post_waits_for_room() -> None:
    inbox = Inbox(size=0)
    for _ in range(RESERVE):
        assert inbox.post(Notice("link.lost"), timeout_s=0)
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(inbox.post(Notice("link.restored"), timeout_s=10)))
    thread.start()
    assert inbox.get(1) == Notice("link.lost")
    wait_until(lambda: done == [True], what="posted")
    thread.join()


@given(st.lists(st.tuples(st.sampled_from(["key", "tags0", "tags1", "get"]), st.integers(0, 9)), max_size=60))
def test_whatever_comes_the_queue_is_bounded_and_keys_keep_their_order(acts: list[tuple[str, int]]) -> None:
    inbox = Inbox(size=4)
    taken: list[Reading] = []
    sent = 0
    for act, _ in acts:
        if act == "get":
            item = inbox.get(0)
            if item is not None:
                taken.append(item)  # type: ignore[arg-type]
        elif act == "key":
            sent += inbox.offer(key(sent))
        else:
            assert inbox.offer(tags(0, act[-1]))
    while (item := inbox.get(0)) is not None:
        taken.append(item)  # type: ignore[arg-type]
    keys = [reading.reading for reading in taken if isinstance(reading, KeyPressed)]
    assert keys == list(range(sent))
