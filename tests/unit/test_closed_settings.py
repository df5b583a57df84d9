"""``closed_cards`` in a table's configuration: what it tells devices, and what does not go with it."""

from pathlib import Path

import pytest

from controller import boot
from controller.configuration import settings
from tests.running import write_config
from tests.unit.test_settings import faults

SHOE = """
[devices.shoe0]
driver = "shoe"
uri = "usbip://127.0.0.1:3240/1-1"
channels = {{ "0" = "shoe" }}
{options}
"""
READERS = """
[devices.cards0]
driver = "feig"
uri = "serial:///dev/ttyUSB0"
channels = { "1" = "board", "2" = "seat:1", "3" = "burn" }
options = { antennas = [1, 2, 3] }
[devices.cards1]
driver = "feig"
uri = "serial:///dev/ttyUSB1"
channels = { "1" = "muck", "2" = "tray" }
options = { antennas = [1, 2] }
"""


def write(folder: Path, *, top: str = "", more: str = "", profile: str = "rs_holdem") -> Path:
    path = write_config(folder)
    text = path.read_text().replace('profile = "rs_holdem"', f'profile = "{profile}"')
    path.write_text(text.replace("test = true", f"test = true\n{top}") + more)
    return path


def test_cards_are_read_unless_a_house_says_otherwise(tmp_path: Path) -> None:
    loaded = settings.load(write(tmp_path, more=SHOE.format(options="")))
    assert not loaded.setup.unread
    assert loaded.devices[-1].options["closed_cards"] == "read"
    assert boot.veils(loaded.setup) == {}


def test_the_shoe_is_told_and_every_device_that_could_name_a_card_is_veiled(tmp_path: Path) -> None:
    more = SHOE.format(options="") + '[devices.tray0]\ndriver = "feig"\nuri = "serial:///dev/ttyUSB0"\n'
    more += '[devices.cam0]\ndriver = "camera"\nuri = "serial:///dev/ttyUSB1"\n'
    more += 'channels = { "1" = "board", "5" = "shoe" }\n'
    loaded = settings.load(write(tmp_path, top='closed_cards = "unread"', more=more))
    assert loaded.setup.unread
    told = {device.name: device.options for device in loaded.devices}
    assert told["shoe0"]["closed_cards"] == "unread"
    assert told["cam0"]["unread"] == [5]
    assert {"shoe0", "tray0", "cam0"} <= set(boot.veils(loaded.setup))
    assert loaded.setup.open_channels({"board"})["cam0"] == frozenset({"1"})


def test_another_word_is_answered_with_the_two(tmp_path: Path) -> None:
    found = faults(write(tmp_path, top='closed_cards = "hidden"'))
    assert "'read' or 'unread'" in found["closed_cards"] or "read" in found["closed_cards"]


@pytest.mark.parametrize(("top", "said"), [("", "unread"), ('closed_cards = "unread"', "read")])
def test_the_shoe_alone_cannot_be_told(tmp_path: Path, top: str, said: str) -> None:
    options = f'options = {{ closed_cards = "{said}" }}'
    found = faults(write(tmp_path, top=top, more=SHOE.format(options=options)))
    assert f'write closed_cards = "{said}" at the top' in found["devices.shoe0.options.closed_cards"]


def test_one_reader_watches_all_places_of_closed_cards(tmp_path: Path) -> None:
    found = faults(write(tmp_path, top='closed_cards = "unread"', more=READERS))
    assert "one reader watches seats, burn and muck" in found["devices.cards1.channels.1"]
    assert not [key for key in found if key.startswith("devices.cards0")]
    assert "devices.cards1.channels.1" not in faults(write(tmp_path, more=READERS))


def test_a_table_of_boxes_needs_its_cards_read(tmp_path: Path) -> None:
    found = faults(write(tmp_path, top='closed_cards = "unread"', profile="lt_uth_customary"))
    assert "settled from the cards that sensors have read" in found["closed_cards"]
