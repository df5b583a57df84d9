"""A configuration is checked as a whole: every fault at once, each with file, key, value and remedy."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from controller.cli import EXIT_CODES
from controller.configuration import profiles, settings
from controller.configuration.profilefile import ProfileFile
from controller.configuration.registries import ChipsFile, DeckFile
from controller.configuration.tablefile import TableFile
from controller.core.cards import DECK
from controller.faults import PATTERNS, BadConfiguration, Fault
from tests.running import CHIPS, ROOT, write_config


def faults(path: Path) -> dict[str, str]:
    """Key -> remedy."""
    return {fault.key: fault.remedy for fault in settings.check(path)}


def edit(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def test_a_sound_file_becomes_a_setup(config: Path) -> None:
    assert settings.check(config) == []
    loaded = settings.load(config)
    assert loaded.setup.profile.name == "rs_holdem"
    assert loaded.setup.chipset.unit == 100
    assert loaded.setup.test
    assert loaded.ledger.file == config.parent / "t07.ledger"
    assert loaded.socket.path == settings.socket_path(config) == config.parent / "t07.sock"


def test_the_hash_covers_the_files_it_names(config: Path, tmp_path: Path) -> None:
    chips = tmp_path / "chips.toml"
    chips.write_text(CHIPS.read_text())
    edit(config, str(CHIPS), "chips.toml")
    before = settings.load(config).sha256
    chips.write_text(chips.read_text() + "\n# another text\n")
    assert settings.load(config).sha256 != before


def test_every_fault_is_named_at_once(config: Path, tmp_path: Path) -> None:
    (tmp_path / "deck.csv").write_text("tag,card\nE004000000000001,As\nE0:04:00:00 00 00 00 01,As\nE004,Zz\n")
    (tmp_path / "chips.csv").write_text("tag,chip\nE004000000000001,w7\n")
    text = config.read_text()
    text = text.replace('site = "zg1"', 'site = "ZG.1"').replace("test = true", 'test = false\nseed = 1\nprofle = "x"')
    text = text.replace("seats = 6", "seats = 1")
    text = text.replace('profile = "rs_holdem"', 'profile = "hr_thp"').replace("small_blind = 100", "small_blind = 150")
    text = text.replace("[chips]", '[override]\n"raise_capp" = 3\n[chips]\ntags = "chips.csv"')
    text += """
[deck]
file = "deck.csv"
[broker]
uri = "mqtt://broker.example:1883"
password_file = "nothing"
[ledger]
signing_key = "nowhere"
[socket]
path = "no/such/folder/sock"
staff.bob = { staff = "s-01", role = "dealer" }
[devices.shoe0]
driver = "shoo"
uri = "usbip://127.0.0.1:3240/1-1"
channels = { "0" = "shoe", "00" = "seat:9" }
[devices.keys0]
driver = "keypad"
uri = "serial:///dev/ttyUSB0"
options = { keymap = { "0x68" = "FOOLD" } }
[devices.tray0]
driver = "feig"
uri = "serial:///dev/../dev/ttyUSB0?baud=115200"
channels = { "0" = "shoe" }
colour = "red"
"""
    config.write_text(text)
    found = settings.check(config)
    keys = {(Path(fault.file).name, fault.key) for fault in found}
    assert keys >= {
        ("table.toml", "site"),
        ("table.toml", "seats"),
        ("table.toml", "profle"),
        ("table.toml", "seed"),
        ("table.toml", 'override."raise_capp"'),
        ("table.toml", "limits.small_blind"),
        ("table.toml", "broker.uri"),
        ("table.toml", "broker.password_file"),
        ("table.toml", "broker.username"),
        ("table.toml", "ledger.device_key"),
        ("table.toml", "ledger.signing_key"),
        ("table.toml", "ledger.auditor_public_key"),
        ("table.toml", "socket.path"),
        ("table.toml", "socket.staff.bob"),
        ("table.toml", "devices.shoe0.driver"),
        ("table.toml", "devices.shoe0.uri"),
        ("table.toml", "devices.shoe0.channels.00"),
        ("table.toml", "devices.keys0.options.keymap.0x68"),
        ("table.toml", "devices.tray0.uri"),
        ("table.toml", "devices.tray0.channels.0"),
        ("table.toml", "devices.tray0.colour"),
        ("table.toml", "devices"),
        ("deck.csv", "line 3"),
        ("deck.csv", "line 4"),
        ("deck.csv", "card"),
        ("chips.csv", "line 2"),
    }
    assert all(fault.remedy for fault in found)
    assert len(found) == len(set(found))


def test_a_typo_is_answered_with_what_was_meant(config: Path) -> None:
    edit(config, "seats = 6", "seat = 6")
    edit(config, "small_blind", "smal_blind")
    found = faults(config)
    assert found["seat"] == 'unknown key: did you mean "seats"?'
    assert found["seats"] == "missing: set it"
    assert found["limits.smal_blind"] == 'unknown key: did you mean "small_blind"?'


def test_the_house_must_decide_the_rake(config: Path) -> None:
    edit(config, '"rs_holdem"', '"hr_thp"')
    assert "HR-15.6" in faults(config)['override."rake.rate"']
    edit(config, "[limits]", '[override]\n"rake.rate" = "5%"\n"rake.rounding" = 100\n[limits]')
    assert settings.check(config) == []


def test_rake_that_no_chip_can_pay_is_refused(config: Path) -> None:
    edit(config, "[limits]", '[override]\n"rake.rate" = "2.5%"\n"rake.rounding" = 50\n[limits]')
    assert "smallest chip, 100" in faults(config)['override."rake.rounding"']


def test_an_override_may_be_written_as_tables(config: Path) -> None:
    edit(config, "[limits]", '[override.rake]\nrate = "1/20"\ncap = 500\nrounding = 100\n[limits]')
    rake = settings.load(config).setup.profile.rake
    assert rake is not None
    assert (rake.rate_num, rake.rate_den, rake.cap) == (1, 20, 500)


def test_no_message_shows_a_card_tag(config: Path, tmp_path: Path) -> None:
    tag = "E004AABBCCDDEEFF"
    (tmp_path / "deck.toml").write_text(f'id = "d"\n[tags]\n{tag} = 7\n"{tag[:-2]}00" = "As"\n')
    config.write_text(config.read_text() + '[deck]\nfile = "deck.toml"\n')
    told = "\n".join(map(str, settings.check(config)))
    assert "line 1 of [tags]" in told
    assert tag[:8] not in told


@pytest.mark.parametrize("form", ["csv", "toml"])
def test_the_example_decks_are_whole(form: str, root: Path, config: Path) -> None:
    config.write_text(config.read_text() + f'[deck]\nfile = "{root}/config/decks/example.{form}"\n')
    deck = settings.load(config).setup.deck
    assert deck.id == "example"
    assert sorted(deck.tags.values()) == sorted(DECK)


def test_the_example_chips_and_their_tags_fit(root: Path, config: Path) -> None:
    edit(config, "[chips]", f'[chips]\ntags = "{root}/config/chips/example.csv"')
    assert len(settings.load(config).setup.chipset.tags) == 115


def test_a_tag_is_a_card_or_a_chip_and_which_one_is_both_is_not_told(root: Path, config: Path, tmp_path: Path) -> None:
    (tmp_path / "chips.csv").write_text("tag,chip\nE0EEEEEE00000002,w1\n")
    edit(config, "[chips]", '[chips]\ntags = "chips.csv"')
    config.write_text(config.read_text() + f'[deck]\nfile = "{root}/config/decks/example.csv"\n')
    found = settings.check(config)
    assert [fault.key for fault in found] == ["deck.file"]
    assert found[0].remedy.startswith("1 of its tags stand in chips.tags as well")
    assert "E0EEEEEE00000002" not in str(found)


def test_chips_that_look_alike_are_refused(config: Path, tmp_path: Path) -> None:
    (tmp_path / "chips.toml").write_text(CHIPS.read_text().replace('"red"', '"white"').replace("= 40", "= 39"))
    edit(config, str(CHIPS), "chips.toml")
    assert any("HR-6.4" in fault.remedy for fault in settings.check(config))


def test_the_example_table_lacks_only_what_belongs_to_the_place(root: Path) -> None:
    """Keys, certificates and folders are the device's own; nothing else of the example may be wrong."""
    own = {"state_dir", "ledger", "socket", "broker", "access"}
    assert {fault.key.split(".")[0] for fault in settings.check(root / "config" / "table.example.toml")} <= own


def test_the_exit_codes_in_the_text_are_those_of_the_help(root: Path) -> None:
    table = (root / "docs" / "configuration.md").read_text().partition("## Exit codes of `feltd`")[2]
    told = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)
    assert told == re.findall(r"^ +(\d+) ", EXIT_CODES, re.MULTILINE)


def test_a_file_that_is_no_toml_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    assert [fault.remedy for fault in settings.check(path)] == [
        "cannot be read (No such file or directory): name a file that exists and is readable"
    ]
    path.write_text("a = \n")
    (fault,) = settings.check(path)
    assert fault.remedy.startswith("not valid TOML")


def test_a_fault_reads_as_one_line() -> None:
    assert str(Fault("a.toml", "b.c", '"x"', "write y")) == 'a.toml: b.c = "x": write y'
    assert str(Fault("a.toml", "", "", "is empty")) == "a.toml: is empty"


def test_check_by_command(config: Path) -> None:
    command = [sys.executable, "-m", "controller.cli", "check", "-c", str(config)]
    good = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)
    assert (good.returncode, good.stdout) == (0, f"{config}: no fault found\n")
    edit(config, "seats = 6", "seats = 60\nx = 1")
    bad = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)
    assert bad.returncode == 2
    assert {fault["key"] for fault in json.loads(bad.stdout)["faults"]} == {"seats", "x"}


# ---------------------------------------------------------------- profiles


def test_the_shipped_profiles_say_what_their_texts_say() -> None:
    hr, rs = profiles.load("hr_thp"), profiles.load("rs_holdem")
    assert (hr.buy_in_min_bb, hr.buy_in_max_bb) == (10, 10)  # HR-A2
    assert (hr.raise_cap, hr.raise_cap_counts, hr.raise_cap_heads_up) == (3, "every_increase", True)  # HR-A1
    assert hr.heads_up_small_blind == "left_of_button"  # HR-A5
    assert hr.show_all  # HR-15.1
    assert hr.rake is None  # HR-15.6
    assert hr.may_rule == ("chief_inspector", "manager")  # HR-22.1
    assert (rs.raise_cap, rs.heads_up_small_blind, rs.show_all) == (None, "button", False)
    assert hr.sha256 != rs.sha256


def test_every_value_changes_the_hash() -> None:
    plain = profiles.load("rs_holdem").sha256
    assert profiles.load("rs_holdem", override={"rake.cap": 100}).sha256 != plain
    assert profiles.load("rs_holdem", override={"show_all": True}).sha256 != plain
    assert profiles.load("rs_holdem", override={"show_all": False}).sha256 == plain


def test_an_heir_replaces_what_it_names_and_keeps_the_rest(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(
        'inherits = "hr_thp"\nname = "house"\nversion = "1"\nbuy_in_max_bb = "none"\n[rake]\nrate = "10%"\ncap = 500\n'
    )
    (tmp_path / "late.toml").write_text(
        'inherits = "house.toml"\nname = "late"\nversion = "2"\n[rake]\nrounding = 500\n'
    )
    late = profiles.load("late.toml", tmp_path)
    assert (late.name, late.buy_in_min_bb, late.buy_in_max_bb, late.raise_cap) == ("late", 10, None, 3)
    assert late.rake is not None
    assert (late.rake.rate_num, late.rake.rate_den, late.rake.cap, late.rake.rounding) == (1, 10, 500, 500)


def test_the_fault_is_laid_to_the_file_that_made_it(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        'schema = 1\nname = "base"\nversion = "1"\nlanguage = "hr"\nfamily = "XX"\nplayers_min = 1\n'
    )
    (tmp_path / "heir.toml").write_text('inherits = "base.toml"\nraise_cap = "three"\n')
    with pytest.raises(BadConfiguration) as caught:
        profiles.load("heir.toml", tmp_path)
    placed = {(Path(fault.file).name, fault.key) for fault in caught.value.faults}
    assert placed == {
        ("base.toml", "family"),
        ("base.toml", "players_min"),
        ("heir.toml", "raise_cap"),
        ("heir.toml", "name"),
        ("heir.toml", "version"),
    }


@pytest.mark.parametrize(
    ("override", "remedy"),
    [
        ({"rake.rate": "101%"}, "between 0% and 100%"),
        ({"rake.rate": 0.05}, "write it as text"),
        ({"rake.rate": "lots"}, "not a share"),
        ({"players_min": 5, "players_max": 4}, "above players_max"),
        ({"buy_in_min_bb": 20, "buy_in_max_bb": 10}, "above buy_in_max_bb"),
        ({"status": "approved"}, "needs an entry in [[approvals]]"),
        ({"may_rule": ["janitor"]}, "chief_inspector"),
        ({"structure": "spread_limit"}, "no_limit"),
    ],
)
def test_contradictions_and_wrong_values(override: dict[str, object], remedy: str) -> None:
    with pytest.raises(BadConfiguration, match=r".*") as caught:
        profiles.load("rs_holdem", override=override)
    assert any(remedy in fault.remedy for fault in caught.value.faults)


def test_a_circle_and_an_unknown_name(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('inherits = "b.toml"\n')
    (tmp_path / "b.toml").write_text('inherits = "a.toml"\n')
    with pytest.raises(BadConfiguration, match="a circle"):
        profiles.load("a.toml", tmp_path)
    with pytest.raises(BadConfiguration, match='did you mean "hr_thp"'):
        profiles.load("hr_tph")


def test_an_rfid_table_needs_antennas_everywhere_and_registered_tags(config: Path) -> None:
    edit(config, 'kind = "shoe"', 'kind = "rfid"')
    found = faults(config)
    assert found["deck.file"] == "missing: an RFID table knows its cards by their tags"
    assert found["chips.tags"] == "missing: an RFID table knows its chips by their tags"
    assert any("no channel watches" in fault.remedy for fault in settings.check(config)), "in test mode as well"


def test_what_moves_must_not_be_gone_before_it_has_arrived(config: Path) -> None:
    with config.open("a") as file:
        file.write("\n[timing]\ndebounce_ms = 2000\ncard_absent_ms = 2000\nchip_absent_ms = 1000\n")
    found = faults(config)
    assert found["timing.card_absent_ms"].startswith("not above debounce_ms = 2000")
    assert found["timing.chip_absent_ms"].startswith("not above debounce_ms = 2000")


def test_the_table_of_six_makes_in_the_documentation_is_one(config: Path) -> None:
    text = (ROOT / "docs" / "drivers.md").read_text(encoding="utf-8")
    devices = next(block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "eccel" in block)
    edit(config, 'kind = "shoe"', 'kind = "rfid"')
    edit(config, "test = true", "test = false")
    config.write_text(re.sub(r"seats\s*=\s*\d+", "seats = 6", config.read_text()) + devices)
    assert [fault for fault in settings.check(config) if fault.key.startswith("devices")] == []


def test_a_camera_may_look_at_what_another_device_reads(config: Path) -> None:
    edit(config, 'kind = "shoe"', 'kind = "rfid"')
    edit(config, "test = true", "test = false")
    reader = """
[devices.a0]
driver = "feig"
uri = "serial:///dev/a"
channels = { "1" = "seat:1" }
options = { antennas = [1] }
"""
    camera = """
[devices.NAME]
driver = "camera"
uri = "tcp://192.0.2.1:PORT"
channels = { "1" = "seat:1", "2" = "board" }
"""
    one = camera.replace("NAME", "cam0").replace("PORT", "7300")
    text = config.read_text()
    config.write_text(text + reader + one)
    found = faults(config)
    assert not any(key.startswith("devices.") for key in found)
    assert "bet:1" in found["devices"]
    assert "board" not in found["devices"]
    assert "stack" not in found["devices"]
    config.write_text(text + reader + one + camera.replace("NAME", "cam1").replace("PORT", "7301"))
    assert "already watched by devices.cam0" in faults(config)["devices.cam1.channels.1"]


def test_a_camera_is_told_where_it_may_not_read_faces(config: Path) -> None:
    camera = """
[devices.cam0]
driver = "camera"
uri = "tcp://192.0.2.1:7300"
channels = { "1" = "seat:1", "2" = "board", "3" = "shoe", "4" = "burn" }
options = { unread = [9] }
"""
    config.write_text(config.read_text() + camera)
    assert settings.load(config).devices[-1].options["unread"] == [9]
    edit(config, "schema = 1", 'schema = 1\nclosed_cards = "unread"')
    assert settings.load(config).devices[-1].options["unread"] == [3, 4, 9]


def test_no_message_shows_an_expression_that_only_a_programmer_reads(config: Path) -> None:
    edit(config, 'site = "zg1"', 'site = "Z/1"\nutc_offset = "1"\ngaming_day_starts = "25:00"')
    edit(config, "[limits]", '[currency]\ncode = "eur"\nexponent = 2.5\n[limits]')
    found = settings.check(config)
    assert {"site", "utc_offset", "gaming_day_starts", "currency.code"} <= {fault.key for fault in found}
    for fault in found:
        assert not any(sign in fault.remedy for sign in ("^", "\\d", "should", "pattern")), fault


def patterns(model: type[BaseModel]) -> set[str]:
    """Every pattern of a section and of what lies in it."""
    found = re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', json.dumps(model.model_json_schema()))
    return {json.loads(f'"{text}"') for text in found}


def test_every_pattern_has_words() -> None:
    models: tuple[type[BaseModel], ...] = (TableFile, ProfileFile, ChipsFile, DeckFile)
    assert set().union(*[patterns(model) for model in models]) <= set(PATTERNS)


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_byte_order_mark_is_named(config: Path, mark: bytes) -> None:
    config.write_bytes(mark + config.read_bytes())
    assert "byte order mark" in settings.check(config)[0].remedy


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = " + "9" * 5000, "x = \xff", "x = 'a"])
def test_what_is_no_toml_is_told_plainly(config: Path, text: str) -> None:
    config.write_text(text, encoding="latin-1")
    (fault,) = settings.check(config)
    assert fault.remedy


@pytest.mark.parametrize("amount", [10**12 + 100, 2**53, 10**18])
def test_money_has_an_upper_bound(config: Path, amount: int) -> None:
    edit(config, "big_blind = 200", f"big_blind = {amount}")
    assert "limits.big_blind" in faults(config)


@pytest.mark.parametrize("channel", ["-1", "+1", "1.0", "01", " 1", "x", "9" * 5000, "²"])
def test_a_channel_is_a_plain_number(config: Path, channel: str) -> None:
    text = (
        config.read_text()
        + f"""
[devices.shoe0]
driver = "shoe"
uri = "usbip://127.0.0.1:3240/1-1"
channels = {{ "{channel}" = "shoe" }}
"""
    )
    config.write_text(text)
    assert "plain number" in faults(config)[f"devices.shoe0.channels.{channel}"]


def test_a_chip_that_smaller_ones_cannot_make_up_is_a_fault(config: Path) -> None:
    chips = config.parent / "odd.toml"
    chips.write_text(
        'id = "odd"\n' + "".join(f'[[denominations]]\nid = "c{v}"\nvalue = {v}\n' for v in (100, 500, 550)),
        encoding="utf-8",
    )
    edit(config, config_chips(config), "odd.toml")
    assert "no multiple of the smallest chip, 100" in faults(config)["denominations.2.value"]


def config_chips(config: Path) -> str:
    """The name of the chip file as it stands in the configuration."""
    found = re.search(r'\[chips\]\nfile = "([^"]+)"', config.read_text())
    assert found
    return found[1]
