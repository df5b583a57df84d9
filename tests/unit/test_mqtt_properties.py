"""The properties of a publish are those that paho itself would make, byte for byte."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from controller.delivery.properties import CONTENT_TYPE, Packed

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs", "Cn")), max_size=90)


@given(
    labels=st.lists(st.tuples(TEXT, TEXT), max_size=4),
    correlation=st.one_of(st.none(), st.binary(max_size=300)),
)
def test_our_bytes_are_those_of_paho(labels: list[tuple[str, str]], correlation: bytes | None) -> None:
    made: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    made.ContentType = CONTENT_TYPE
    if labels:
        made.UserProperty = labels
    if correlation is not None:
        made.CorrelationData = correlation
    ours = Packed(tuple(labels), correlation).pack()
    assert ours == made.pack()
    read: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    assert read.unpack(ours)[1] == len(ours)
    assert getattr(read, "UserProperty", []) == labels
