"""A driver of somebody else's package: the very example of docs/drivers.md, installed, found and used."""

import queue
import re
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.configuration.settingschecks import kind_of
from drivers import catalog
from drivers.backoff import Backoff
from drivers.errors import ConfigError, UnknownDriver
from drivers.readings import DeviceUp, Reading, TagsSeen
from drivers.supervisor import Supervisor
from tests.ptywire import PtyWire

TAG = bytes.fromhex("0236324533303836434544303803")

Install = Callable[..., None]


def _block(text: str, name: str) -> str:
    found = re.search(rf"^`{re.escape(name)}`\n\n```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/drivers.md shows no {name}"
    return found[1]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a package where pip would: its module and its metadata, on the path."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def put(package: str, points: dict[str, str], module: str = "", code: str = "") -> None:
        info = site / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {target}\n" for name, target in points.items())
        (info / "entry_points.txt").write_text(f"[{catalog.GROUP}]\n{lines}")
        if module:
            (site / module).write_text(code)
        catalog.refresh()

    yield put
    sys.modules.pop("felt_rdm6300", None)
    monkeypatch.undo()
    catalog.refresh()


@pytest.fixture
def example(install: Install, root: Path) -> None:
    """The package of the documentation."""
    text = (root / "docs" / "drivers.md").read_text()
    project = tomllib.loads(_block(text, "pyproject.toml"))["project"]
    points = project["entry-points"][catalog.GROUP]
    install(project["name"], points, "felt_rdm6300.py", _block(text, "felt_rdm6300.py"))


@pytest.mark.usefixtures("example")
def test_it_is_found_by_name_and_does_what_ours_do() -> None:
    assert "rdm6300" in catalog.names()
    assert catalog.role("rdm6300") == "reader"
    driver = catalog.make("rdm6300", "door0", "p", None, {"window_ms": 300})
    up = driver.start(0)
    assert isinstance(up.readings[0], DeviceUp)
    assert driver.feed(b"\x00" + TAG[:5], 1).readings
    driver.feed(TAG[5:], 2)
    (seen,) = [reading for reading in driver.tick(2).readings if isinstance(reading, TagsSeen)]
    assert seen.tags == {"62E3086CED"}
    with pytest.raises(ConfigError, match=r"door0\.colour = 'red': remove it"):
        catalog.make("rdm6300", "door0", options={"colour": "red"})


@pytest.mark.usefixtures("example")
def test_the_recorded_frames(shared: Path) -> None:
    import json

    frames = json.loads((shared / "data" / "device_vectors.json").read_text())
    good, bad = [bytes.fromhex(each["hex"]) for each in frames if each["protocol"] == "rdm6300-id12"]
    driver = catalog.make("rdm6300", "door0")
    driver.start(0)
    driver.feed(bad + good, 0)
    tags = {tag for reading in driver.tick(1).readings if isinstance(reading, TagsSeen) for tag in reading.tags}
    assert tags == {"62E3086CED"}


@pytest.mark.wires
@pytest.mark.usefixtures("example")
def test_the_supervisor_runs_it_on_a_real_port(tmp_path: Path) -> None:
    wire = PtyWire(tmp_path / "door0")
    heard: queue.Queue[Reading] = queue.Queue(100)

    def emit(reading: Reading) -> bool:
        heard.put_nowait(reading)
        return True

    supervisor = Supervisor(
        "door0", wire.uri, "rdm6300", emit=emit, clock=time.monotonic_ns, backoff=Backoff(0.01, 0.05)
    )
    supervisor.start()
    try:
        assert isinstance(heard.get(timeout=10), DeviceUp)
        deadline = time.monotonic() + 10
        while True:
            wire.send(TAG)
            reading = heard.get(timeout=max(0.01, deadline - time.monotonic()))
            if isinstance(reading, TagsSeen) and reading.tags == {"62E3086CED"}:
                break
    finally:
        assert supervisor.stop()
        wire.unplug()


@pytest.mark.usefixtures("example")
def test_a_table_file_may_name_it_and_faults_name_it_too() -> None:
    assert [kind_of(driver) for driver in ("rdm6300", "camera", "shoe", "keypad", "mercury")] == [
        "reader",
        "camera",
        "shoe",
        "keypad",
        "reader",
    ]
    with pytest.raises(UnknownDriver, match="mercury, rdm6300, shoe"):
        catalog.make("rdm630", "door0")


def test_a_package_replaces_none_of_ours(install: Install) -> None:
    ours = catalog.make("feig", "tray0")
    install("felt-evil", {"feig": "felt_evil:Feig"}, "felt_evil.py", "raise SystemError\n")
    assert type(catalog.make("feig", "tray0")) is type(ours)
    assert list(catalog.names()).count("feig") == 1


def test_two_packages_with_one_name_are_both_named(install: Install) -> None:
    install("felt-one", {"dice": "felt_one:Dice"})
    install("felt-two", {"dice": "felt_two:Dice"})
    with pytest.raises(ConfigError, match="felt-one, felt-two"):
        catalog.make("dice", "d0")
    assert catalog.role("dice") == "reader"


@pytest.mark.parametrize(
    ("code", "words"),
    [("", "cannot be loaded"), ("import nothing_like_it\n", "cannot be loaded"), ("Dice = 6\n", "no driver class")],
)
def test_a_broken_package_is_named(install: Install, code: str, words: str) -> None:
    module = f"felt_broken_{len(code)}"
    install("felt-broken", {"dice": f"{module}:Dice"}, f"{module}.py", code)
    with pytest.raises(ConfigError, match=f"felt-broken.*{words}|felt-broken offers {words}"):
        catalog.make("dice", "d0")


def test_without_packages_there_is_no_such_driver() -> None:
    with pytest.raises(UnknownDriver):
        catalog.make("rdm6300", "door0")
