"""The configuration that a rehearsal writes for each kind of table and game is one that a daemon starts with."""

from pathlib import Path

import pytest

from controller.configuration import settings
from simulators import config
from simulators.layout import Kind
from simulators.plan import of_scenario
from simulators.scripts import scenario
from simulators.scripts.variants import Pick

SCENARIOS = Path(__file__).parent / "scenarios"


@pytest.mark.parametrize("table", ["shoe", "rfid"])
@pytest.mark.parametrize("name", ["both-tables", "ultimate-dark-box"])
def test_it_is_sound_and_says_so_of_each_antenna(tmp_path: Path, name: str, table: Kind) -> None:
    plan = of_scenario(scenario.load(SCENARIOS / f"{name}.toml", Pick("", table)))
    uris = {device.name: f"tcp://127.0.0.1:{4000 + at}" for at, device in enumerate(plan.layout.devices)}
    uris = {name: "usb:1-1" if "keys" in name or "shoe" in name else uri for name, uri in uris.items()}
    path = config.write(plan, tmp_path, uris, "mqtt://127.0.0.1", "5", tmp_path / "ledger")
    assert [fault for fault in settings.check(path) if fault.key == "devices"] == []
    if table == "rfid":
        spot = "box:1:ante" if name.startswith("ultimate") else "bet:1"
        path.write_text(path.read_text().replace(f'"{spot}"', '"rake"'))
        (fault,) = [fault for fault in settings.check(path) if fault.key == "devices"]
        assert spot in fault.remedy
