"""The files for systemd, read by systemd's own tools and held against the daemon.

The tools come with Debian's package systemd, which `make test` installs. Where they are missing these tests fail.
"""

import os
import re
import shutil
import socket
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from controller.ledger.errors import KeyFileError
from controller.ledger.keys import create_device_key, load_device_key
from simulators.broker import MosquittoBroker
from simulators.rigs import Host
from tests.confined import directives, run_confined
from tests.conftest import ROOT
from tests.running import Running, write_config
from tests.subscribers import Subscriber
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(60)

FOLDER = ROOT / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
RULES = sorted(FOLDER.glob("udev/*.rules"))
UNIT = FOLDER / "feltd@.service"
TABLE = "t07"
"""The instance that config/table.example.toml is written for."""


def tool(*command: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which(command[0])
    assert program, f"{command[0]} is missing; it comes with systemd (Debian: apt-get install systemd)"
    environ = {**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_EMOJI": "0"}
    return subprocess.run([program, *command[1:]], check=False, capture_output=True, text=True, env=environ)


def values(unit: Path, key: str) -> list[str]:
    return [value for name, value in directives(unit) if name == key]


# ---------------------------------------------------------------- units


def runnable(unit: Path, folder: Path, old: str = "", new: str = "") -> Path:
    """A copy whose program exists on this machine, with ``old`` replaced."""
    text = re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={shutil.which('true')}", unit.read_text(encoding="utf-8"))
    assert old in text
    copy = folder / unit.name
    copy.write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    return copy


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_exposed_by_at_most_two_of_ten(unit: Path) -> None:
    done = tool("systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit)
    assert done.returncode == 0, done.stdout + done.stderr
    level = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert level, done.stdout
    assert float(level[1]) <= 2.0


def test_the_measure_of_exposure_can_fail(tmp_path: Path) -> None:
    unit = runnable(UNIT, tmp_path, "CapabilityBoundingSet=", "#")
    assert tool("systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit).returncode != 0


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_every_line_of_a_unit(unit: Path, tmp_path: Path) -> None:
    done = tool("systemd-analyze", "verify", "--man=no", runnable(unit, tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("WatchdogSec=10", "WatchdogSecs=10"),
        ("Type=notify", "Type=notfy"),
        ("DeviceAllow=char-ttyACM rw", "DeviceAllow=ttyACM rw"),
        ("SystemCallFilter=@chown", "SystemCallFilter=@chwon"),
    ],
)
def test_what_systemd_does_not_understand_it_says_on_standard_error(old: str, new: str, tmp_path: Path) -> None:
    """Its exit code is 0 all the same, which is why the test above looks at standard error."""
    done = tool("systemd-analyze", "verify", "--man=no", runnable(UNIT, tmp_path, old, new))
    assert UNIT.name in done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_table_comes_back_and_leaves_no_core(unit: Path) -> None:
    """What neither the score nor the grammar asks for."""
    told = dict(directives(unit))
    needed = {
        "Type": "notify",
        "Restart": "always",
        "StartLimitIntervalSec": "0",
        "WatchdogSignal": "SIGABRT",
        "LimitCORE": "0",
        "DevicePolicy": "closed",
        "ProtectSystem": "strict",
        "MemoryDenyWriteExecute": "yes",
    }
    assert needed.items() <= told.items()
    # Past the longest silence of the loop that feeds it.
    assert int(told["WatchdogSec"]) >= 5
    # An unplugged device must not stop the table; hidden devices and mapped users would break it.
    assert not {"BindsTo", "BindTo", "PrivateDevices", "PrivateUsers"} & told.keys()
    assert values(unit, "SupplementaryGroups") == ["dialout plugdev"]
    assert {line.split()[0] for line in values(unit, "DeviceAllow")} == {
        "char-ttyACM",
        "char-ttyUSB",
        "char-usb_device",
    }


def test_the_example_table_uses_the_folders_and_credentials_of_its_unit(root: Path) -> None:
    example = tomllib.loads((root / "config" / "table.example.toml").read_text(encoding="utf-8"))
    assert example["table"] == TABLE

    def of(key: str) -> str:
        (value,) = values(UNIT, key)
        return value.replace("%i", TABLE)

    state = Path("/var/lib", of("StateDirectory"))
    assert Path(example["state_dir"]) == state
    assert state / example["ledger"].get("file", f"{TABLE}.ledger") == state / f"{TABLE}.ledger"
    assert Path(example["socket"]["path"]).parent == Path("/run", of("RuntimeDirectory"))
    loaded = {line.partition(":")[0] for line in values(UNIT, "LoadCredential")}
    credentials = Path("/run/credentials", UNIT.name.replace("@", f"@{TABLE}"))
    named = [example["broker"]["password_file"], example["ledger"]["device_key"], example["ledger"]["signing_key"]]
    assert {Path(name) for name in named} == {credentials / name for name in loaded}


# ---------------------------------------------------------------- the daemon under the unit's filter


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Where a service manager would listen."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(20)
        yield listening


def hear(manager: socket.socket, state: str) -> None:
    while state not in manager.recv(4096).decode().splitlines():
        pass


@pytest.mark.wires
def test_the_daemon_lives_under_the_filter_of_its_unit(tmp_path: Path, manager: socket.socket) -> None:
    """Ledger, serial port, USB, broker, command socket with a group of its own, watchdog: nothing is refused."""
    drivers = {"tray0": "feig", "keys0": "keypad"}
    tray = {"name": "tray0", "driver": "feig", "path": str(tmp_path / "tray0")}
    with (
        MosquittoBroker(tmp_path) as broker,
        Subscriber(broker.port) as subscriber,
        Host([tray, {"name": "keys0", "driver": "keypad"}], tmp_path / "host.sock") as host,
    ):
        devices = {name: (drivers[name], uri) for name, uri in host.uris.items()}
        more = f'broker.uri = "{broker.uri}"\nsocket.gids = [{os.getgid()}]\n'
        config = write_config(tmp_path, devices, more)
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        with run_confined(UNIT, Running, config, environ=environ) as daemon:
            hear(manager, "READY=1")
            hear(manager, "WATCHDOG=1")
            wait_until(lambda: all(daemon.status["devices"].get(name) == "up" for name in drivers), what="devices up")
            # The whole file is checked in the background, by a thread that lowers its priority.
            wait_until(lambda: "ledger checked" in daemon.log.read_text(encoding="utf-8"), what="the ledger's check")
            assert "ordinary priority" not in daemon.log.read_text(encoding="utf-8")
            daemon.do("login", staff="s-01", role="dealer")
            daemon.do("open")
            wait_until(lambda: any("table/opened" in heard.topic for heard in subscriber.events), what="the event")
            status = Path("/proc", str(daemon.process.pid), "status").read_text(encoding="ascii")
            assert re.search(r"(?m)^Seccomp:\s+2$", status)
            assert re.search(r"(?m)^CapEff:\s+0+$", status)
            assert daemon.stop() == 0
            hear(manager, "STOPPING=1")


def test_the_filter_refuses_what_a_table_never_does() -> None:
    """Otherwise the test above would show nothing."""
    code = """
import mmap, os, socket
def refused(call, *args):
    try: call(*args)
    except PermissionError: return True
print([refused(*what) for what in (
    (mmap.mmap, -1, 4096, mmap.MAP_PRIVATE, mmap.PROT_WRITE | mmap.PROT_EXEC),
    (socket.socket, socket.AF_PACKET, socket.SOCK_RAW),
    (os.sched_setaffinity, 0, {0}),
    (os.setuid, 0),
    (os.chroot, "/"),
)])
"""
    done = run_confined(UNIT, tool, "python3", "-c", code)
    assert done.stdout.strip() == str([True] * 5), done.stderr


@pytest.mark.parametrize(("mode", "accepted"), [(0o400, True), (0o440, True), (0o444, False), (0o460, False)])
def test_a_credential_may_show_the_mask_of_its_access_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, *, accepted: bool
) -> None:
    """From version 254 on systemd hands a credential to an account in this way: root's, mode 0440, an entry more."""
    create_device_key(tmp_path / "device-key")
    (tmp_path / "device-key").chmod(mode)
    with pytest.raises(KeyFileError) if mode != 0o400 else nullcontext():
        load_device_key(tmp_path / "device-key")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with nullcontext() if accepted else pytest.raises(KeyFileError):
        load_device_key(tmp_path / "device-key")


# ---------------------------------------------------------------- accounts and folders


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An empty file system with the files where docs/install.md puts them."""
    top = tmp_path / "device"
    for kind in ("sysusers.d", "tmpfiles.d"):
        (top / "etc" / kind).mkdir(parents=True)
        shutil.copy(FOLDER / kind / "feltd.conf", top / "etc" / kind)
    (top / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (top / "etc" / "group").write_text("root:x:0:\nfeltd:x:999:\ndialout:x:20:\n")
    return top


def test_sysusers_makes_the_account_and_its_groups(installed: Path) -> None:
    (installed / "etc" / "group").write_text("root:x:0:\ndialout:x:20:\n")
    done = tool("systemd-sysusers", f"--root={installed}", "--dry-run")
    assert done.returncode == 0, done.stderr
    made = set(re.findall(r"Would create (?:group|user) .*|Creating (?:group|user) '(\w+)'", done.stderr + done.stdout))
    assert {"feltd", "plugdev"} <= made, done.stderr
    assert "dialout" not in made
    assert "/sysusers.d/" not in done.stderr


def test_sysusers_takes_the_groups_that_a_distribution_has_itself(installed: Path) -> None:
    """Debian gives both a number of its own: a second line for the same group would be a conflict."""
    debian = installed / "usr" / "lib" / "sysusers.d"
    debian.mkdir(parents=True)
    (debian / "basic.conf").write_text("g dialout 20 -\ng plugdev 46 -\n")
    done = tool("systemd-sysusers", f"--root={installed}")
    assert (done.returncode, "onflict" in done.stderr) == (0, False), done.stderr
    groups = (installed / "etc" / "group").read_text().splitlines()
    assert {"dialout:x:20:feltd", "plugdev:x:46:feltd"} <= set(groups)


def test_sysusers_says_what_it_does_not_understand(installed: Path) -> None:
    """Its exit code is 0 all the same."""
    (installed / "etc" / "sysusers.d" / "feltd.conf").write_text("x feltd -\n")
    assert "/sysusers.d/feltd.conf:1" in tool("systemd-sysusers", f"--root={installed}", "--dry-run").stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another account")
def test_tmpfiles_makes_the_folders_and_puts_the_modes_of_keys_right(installed: Path) -> None:
    keys = installed / "etc" / "feltd" / TABLE
    keys.mkdir(parents=True)
    for name in ("device-key", "signing-key", "broker-password", "signing.pub"):
        (keys / name).write_text("x")
        (keys / name).chmod(0o644)
    done = tool("systemd-tmpfiles", f"--root={installed}", "--create")
    assert (done.returncode, done.stderr) == (0, "")

    def owned(path: str) -> tuple[int, int, str]:
        found = (installed / path).stat()
        return found.st_uid, found.st_gid, f"{found.st_mode & 0o7777:o}"

    assert owned("etc/feltd") == (0, 999, "750")
    assert owned("var/lib/feltd") == owned("run/feltd") == (0, 0, "755")
    for name in ("device-key", "signing-key", "broker-password"):
        assert owned(f"etc/feltd/{TABLE}/{name}") == (0, 0, "600")
    assert owned(f"etc/feltd/{TABLE}/signing.pub") == (0, 0, "644")


def test_tmpfiles_says_what_it_does_not_understand(installed: Path) -> None:
    (installed / "etc" / "tmpfiles.d" / "feltd.conf").write_text("d /etc/feltd 0999 root feltd -\n")
    assert tool("systemd-tmpfiles", f"--root={installed}", "--create").returncode != 0


# ---------------------------------------------------------------- udev

_PART = re.compile(r'([A-Z_]+)(?:\{([^}]+)\})?(==|!=|\+=|:=|=)"([^"]*)"')
_MATCH = {"ACTION", "ENV", "KERNELS", "SUBSYSTEM", "SUBSYSTEMS", "ATTR", "ATTRS"}
_ASSIGN = {"ENV": {"="}, "GROUP": {"="}, "MODE": {"="}, "SYMLINK": {"+="}, "TAG": {"+="}, "GOTO": {"="}, "LABEL": {"="}}
Part = tuple[str, str, str, str]


def parse(rules: str) -> list[list[Part]]:
    """Each rule as its parts (key, attribute, operator, value). Raises ``ValueError`` on what udev would refuse."""
    parsed: list[list[Part]] = []
    for line in rules.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        parts: list[Part] = []
        for text in re.split(r",\s*(?=[A-Z])", line):
            part = _PART.fullmatch(text)
            if part is None:
                raise ValueError(f"{text!r} is no part of a rule")
            key, attribute, operator, value = part.groups("")
            matches = operator in ("==", "!=")
            if key not in (_MATCH if matches else _ASSIGN) or not (matches or operator in _ASSIGN[key]):
                raise ValueError(f"{key} cannot stand with {operator}")
            if (key in ("ATTR", "ATTRS", "ENV")) != bool(attribute):
                raise ValueError(f"{key} with the attribute {attribute!r}")
            parts.append((key, attribute, operator, value))
        parsed.append(parts)
    return parsed


def devices(rules: Path) -> list[dict[str, str]]:
    """The rules that give a device away: what each sets and asks for, by key."""
    flat = [
        {f"{key}{{{attribute}}}" if attribute else key: value for key, attribute, _, value in parts}
        for parts in parse(rules.read_text(encoding="utf-8"))
    ]
    return [rule for rule in flat if not {"GOTO", "LABEL"} & rule.keys()]


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
def test_a_rule_for_devices_is_one_that_udev_understands(rules: Path) -> None:
    jumps = [part for rule in parse(rules.read_text(encoding="utf-8")) for part in rule]
    assert {value for key, _, _, value in jumps if key == "GOTO"} == {
        value for key, _, _, value in jumps if key == "LABEL"
    }
    # Debian 12's udevadm cannot verify rules; newer ones can, and know more than we do.
    if shutil.which("udevadm") and "verify" in tool("udevadm", "--help").stdout:
        done = tool("udevadm", "verify", "--resolve-names=never", rules)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "broken",
    [
        'MODE=="0660"',
        'SYMLINK="table/x"',
        'SUBSYTEM=="tty"',
        "GROUP=dialout",
        'ATTRS=="1209"',
        'TAG+="systemd" MODE="0660"',
    ],
)
def test_a_broken_rule_is_found(broken: str) -> None:
    with pytest.raises(ValueError, match=r"part of a rule|cannot stand|attribute"):
        parse(broken)


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
def test_a_device_is_given_to_one_group_and_kept_from_modem_manager(rules: Path) -> None:
    found = devices(rules)
    groups = {"tty": "dialout", "usb": "plugdev"}
    (supplementary,) = values(UNIT, "SupplementaryGroups")
    for rule in found:
        assert rule["MODE"] == "0660"
        assert rule["GROUP"] == groups[rule["SUBSYSTEM"]]
        assert rule["GROUP"] in supplementary.split()
        assert rule["ENV{ID_MM_DEVICE_IGNORE}"] == "1"
        assert rule["TAG"] == "systemd"
        attribute = "ATTR" if rule["SUBSYSTEM"] == "usb" else "ATTRS"
        assert all(re.fullmatch("[0-9a-f]{4}", rule[f"{attribute}{{{key}}}"]) for key in ("idVendor", "idProduct"))
    named = [rule for rule in found if "SYMLINK" in rule]
    # A name is taken once, lies under /dev/table, and belongs to one adapter or one port, never to a model.
    assert len({rule["SYMLINK"] for rule in named}) == len(named) > 0
    assert all(re.fullmatch(r"table/[a-z0-9-]+", rule["SYMLINK"]) for rule in named)
    assert all({"ATTRS{serial}", "KERNELS"} & rule.keys() for rule in named)


def test_the_devices_of_the_example_table_have_a_rule(root: Path) -> None:
    example = tomllib.loads((root / "config" / "table.example.toml").read_text(encoding="utf-8"))
    uris = [device["uri"] for device in example["devices"].values()]
    found = [rule for rules in RULES for rule in devices(rules)]
    names = {f"serial:///dev/{rule['SYMLINK']}" for rule in found if "SYMLINK" in rule}
    ids = {f"usb://{rule['ATTR{idVendor}']}:{rule['ATTR{idProduct}']}" for rule in found if "ATTR{idVendor}" in rule}
    assert {uri.partition("?")[0] for uri in uris} <= names | ids


# ---------------------------------------------------------------- the page for the technician


def test_the_installation_names_every_file(root: Path) -> None:
    page = (root / "docs" / "install.md").read_text(encoding="utf-8")
    missing = [path.name for path in FOLDER.rglob("*") if path.is_file() and str(path.relative_to(root)) not in page]
    assert not missing
