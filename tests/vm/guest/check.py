"""The check inside the machine: what a technician does with docs/install.md, and what he must then see.

Runs as root in ``check.service``. Everything it sees goes out on a line of the machine; the evidence stays on the disk.
"""

import json
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from controller import client
from controller.contract.topics import Source, Topics
from controller.errors import FeltError
from simulators import rig
from simulators.errors import RigError
from simulators.rigs import Host
from simulators.seen import Seen
from simulators.subscriber import Subscriber
from tests.vm.guest.kit import (
    UNIT,
    Failed,
    Outside,
    answers,
    attached,
    driver_of,
    expect,
    node_of,
    rights,
    run,
    sh,
    shown,
    udev,
    until,
    usb_devices,
)

HERE = Path(__file__).resolve().parent
HOME = Path("/opt/check")
EVIDENCE = HOME / "evidence"
BIN = Path("/opt/rig/bin")
IDS = {"shoe0": "1209:f001", "keys0": "1209:f002"}
BUSIDS = {"shoe0": "1-1", "keys0": "1-2"}
TRAY = Path("/dev/table/t07-tray0")
HAND_S = 900.0
OFFICE_S = 300.0
NOBODY = 65534
BAD = ("BUG:", "Oops", "Call Trace", "type=1326")
"""In the kernel's log; the last is a system call that the filter ended a process for."""
ILL = ("Traceback", "ended with an error", "ordinary priority")
OPEN = "import os,sys; os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)"


class Check:
    """Everything that is checked, in this order; each method is one check and returns what it saw."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._rig = rig.read(HERE / "rig.toml")
        self._topics = Topics(Source("zg1", "t07"), test=True)
        self._subscriber: Subscriber | None = None
        self._host: Host | None = None

    def close(self) -> None:
        """End what was begun."""
        for one in (self._host and self._host.stop, self._subscriber and self._subscriber.close):
            if one:
                one()

    def the_unit_is_active_with_no_device_there(self) -> list[str]:
        until(lambda: self._state() == "active", lambda: f"{UNIT} is {self._state()}: {self._last_words()}")
        told = shown("Type", "NRestarts", "StatusText", "Result", "MainPID", "ActiveEnterTimestampMonotonic")
        expect(("notify", "0", "success"), (told["Type"], told["NRestarts"], told["Result"]), "the unit")
        ready = [line for line in self._journal() if line.get("event") == "ready"]
        expect(1, len(ready), "lines that say ready")
        self._subscriber = Subscriber(self._rig.broker, self._topics.base, "check")
        until(lambda: set(self._devices().values()) == {"lost"}, lambda: f"devices are {self._devices()}")
        ready_s = int(told["ActiveEnterTimestampMonotonic"]) / 1e6
        return [f"active, {told['StatusText']!r}, ready {ready_s:.0f} s after power on"]

    def its_hardening_is_on(self) -> list[str]:
        lines = Path("/proc", shown("MainPID")["MainPID"], "status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        powers = tuple(status[key] for key in ("Seccomp", "NoNewPrivs", "CapEff"))
        expect(("2", "1", "0000000000000000"), powers, "seccomp, no new privileges, capabilities")
        groups = sh("getent", "group", *status["Groups"].split())
        expect({"dialout", "plugdev", "feltd"}, {line.split(":")[0] for line in groups.splitlines()}, "its groups")
        expect("feltd:feltd 0700", rights(Path("/var/lib/feltd/t07")), "/var/lib/feltd/t07")
        for node, answer in (("/dev/null", ""), ("/dev/ttyS1", "EPERM"), ("/dev/vda", "EPERM"), ("/dev/kmsg", "EPERM")):
            expect(answer, self._opened_in_unit(node), f"{node} opened by the unit")
        return ["a filter of system calls, no capability, no new privilege, no device but those it needs"]

    def the_kernel_attaches_shoe_and_keypad(self) -> list[str]:
        sh("modprobe", "vhci-hcd")
        self._host = Host(self._rig.devices, HOME / "devices.sock", usbip=self._rig.usbip)
        saw = []
        for name, ids in IDS.items():
            (folder,) = self._attach(name)
            sh("udevadm", "settle")
            saw += sh("lsusb", "-d", ids).splitlines()
            expect("root:plugdev 0660", rights(node_of(folder)), str(node_of(folder)))
            known = udev(node_of(folder))
            expect("1", known.get("ID_MM_DEVICE_IGNORE"), "ID_MM_DEVICE_IGNORE")
            expect(True, ":systemd:" in known.get("TAGS", ""), "the tag systemd")
            self._until(name, "up")
            expect("usbfs", driver_of(folder), f"who has {ids}")  # the daemon
        return saw

    def udev_names_the_tray_that_is_plugged_in_late(self) -> list[str]:
        expect(False, TRAY.exists(), "the name before the adapter")
        self._outside.ask("plug")
        until(TRAY.exists, str(TRAY))
        sh("udevadm", "settle")
        node = TRAY.resolve()
        expect("root:dialout 0660", rights(node), str(node))
        known = udev(node)
        expect(("1", "ftdi_sio"), (known.get("ID_MM_DEVICE_IGNORE"), known.get("ID_USB_DRIVER")), "what udev knows")
        self._until("tray0", "up")
        return [f"{TRAY} -> {node}, {rights(node)}, {known.get('ID_MODEL')} {known.get('ID_SERIAL_SHORT')}, up"]

    def nobody_else_may_open_them(self) -> list[str]:
        nodes = [TRAY.resolve(), *(node_of(folder) for ids in IDS.values() for folder in usb_devices(ids))]
        somebody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", sys.executable, "-c", OPEN)
        for node in nodes:
            done = run(*somebody, node)
            expect(True, "PermissionError" in done.stderr, f"{node} is closed to others ({done.stderr.strip()[-80:]})")
        return [" ".join(map(str, nodes))]

    def a_device_that_goes_is_lost_and_comes_back_by_itself(self) -> list[str]:
        for name in ("keys0", "shoe0"):
            with self._lost_and_up(name):
                sh("usbip", "detach", "-p", attached()[BUSIDS[name]])
                self._until(name, "lost")
                self._attach(name)
        with self._lost_and_up("tray0"):
            self._outside.ask("unplug")
            until(lambda: not TRAY.exists(), f"{TRAY} to vanish")
            self._until("tray0", "lost")
            self._outside.ask("plug")
        return ["keypad and shoe by usbip detach, tray by its plug: device.lost, then device.up"]

    def a_hand_is_played(self) -> list[str]:
        self._unplug_all()
        stop = threading.Event()
        attaching = threading.Thread(target=self._keep_attached, args=(stop,))
        attaching.start()
        try:
            report = EVIDENCE / "report.json"
            asked = ("--rig", HERE / "rig.toml", "--report", report, "--bundles", EVIDENCE / "bundles")
            done = run(BIN / "feltsim", "rehearse", HERE / "hand.toml", *asked, seconds=HAND_S)
        finally:
            stop.set()
            attaching.join()
        said = (done.stdout + done.stderr).strip()
        expect(0, done.returncode, f"feltsim rehearse ({said})")
        for event in ("hand.started", "hand.closed", "hand.final", "table.closed"):
            expect(1, sum(one.type == event for one in self._seen()), f"events {event}")
        return [*said.splitlines()[:1], f"{len(self._seen())} events at the broker"]

    def what_the_broker_got_is_signed_and_whole(self) -> list[str]:
        store = EVIDENCE / "office.db"
        sh(BIN / "feltoffice", "enrol", store, "zg1/t07", "--test", "--key", "/etc/feltd/t07/signing.pub")
        broker = ("--broker", "mqtts://127.0.0.1:8883", "--ca", "/etc/feltd/ca.pem", "--client", "office")
        login = ("--username", "office", "--password-file", HOME / "office-password")

        def all_there() -> bool:
            """The office was not there: the table sends it all again, as slowly as an emulated one does."""
            sh(BIN / "feltoffice", "follow", store, *broker, *login, "--seconds", "20")
            with closing(sqlite3.connect(store)) as kept:
                bodies = {body for (body,) in kept.execute("select payload from event")}
            return {event.body for event in self._seen()} <= bodies

        until(all_there, "the office to have what the broker got", OFFICE_S)
        (report,) = json.loads(sh(BIN / "feltoffice", "verify", store, "--json"))["tables"]["/felt/zg1/t07"]
        expect((True, []), (report["ok"], report["faults"]), "the ledger as the office has it")
        expect(True, report["signatures"] > 0, "signatures")
        sh(BIN / "feltd", "verify", "/var/lib/feltd/t07/t07.ledger")
        return [f"{report['events']} events, {report['signatures']} signatures, whole; the ledger verifies"]

    def a_table_that_hangs_is_started_again(self) -> list[str]:
        before = shown("MainPID", "NRestarts")
        os.kill(int(before["MainPID"]), 19)  # SIGSTOP: as good as a hang, and nothing in the process can help it
        until(lambda: shown("NRestarts")["NRestarts"] == "1" and self._state() == "active", "the watchdog's restart")
        expect(False, shown("MainPID")["MainPID"] == before["MainPID"], "the same process")
        return ["WatchdogSec=10 ended a stopped process; the unit came back by itself"]

    def the_unit_ends_in_order_and_gives_the_devices_back(self) -> list[str]:
        self._host = Host(self._rig.devices, HOME / "devices.sock", usbip=self._rig.usbip)
        for name in BUSIDS:
            self._attach(name)
        for name in ("shoe0", "keys0", "tray0"):
            self._until(name, "up")
        sh("systemctl", "stop", UNIT)
        told = shown("Result", "ActiveState", "ExecMainStatus")
        expect(("success", "inactive", "0"), (told["Result"], told["ActiveState"], told["ExecMainStatus"]), "its end")
        (keypad,) = usb_devices(IDS["keys0"])
        expect("usbhid", driver_of(keypad), "who has the keypad now")
        sh("systemctl", "start", UNIT)
        for name in ("shoe0", "keys0", "tray0"):
            self._until(name, "up")
        return ["stopped with code 0, the keypad is the kernel's again; started, all devices up"]

    def nothing_was_refused_on_the_way(self) -> list[str]:
        kernel = sh("journalctl", "--dmesg", "--no-pager", "--output=cat").splitlines()
        expect([], [line for line in kernel if any(word in line for word in BAD)], "the kernel's log")
        expect([], [line for line in self._log() if any(word in line for word in ILL)], "the daemon's log")

        def checked() -> list[int]:
            return [line["faults"] for line in self._journal() if line.get("event") == "ledger checked"]

        until(lambda: checked() == [0, 0, 0], lambda: f"faults that each start found in the ledger: {checked()}")
        failed = sh("systemctl", "list-units", "--failed", "--plain", "--no-legend")
        expect("", failed.strip(), "failed units")
        return [sh("uname", "--kernel-release").strip() + ", " + sh("systemctl", "--version").splitlines()[0]]

    # ------------------------------------------------------------------ the table's word

    def _state(self) -> str:
        return shown("ActiveState")["ActiveState"]

    def _log(self) -> list[str]:
        return sh("journalctl", "--unit", UNIT, "--no-pager", "--output=cat").splitlines()

    def _journal(self) -> Iterator[dict[str, Any]]:
        for line in self._log():
            if line.startswith("{"):
                yield json.loads(line)

    def _last_words(self) -> str:
        return "; ".join(self._log()[-3:])

    def _devices(self) -> dict[str, str]:
        try:
            status = client.ask(Path("/run/feltd/t07/command.sock"), {"command": "status"})["status"]
        except client.NotReachable:
            return {}
        devices: dict[str, str] = status["devices"]
        return devices

    def _seen(self) -> list[Seen]:
        assert self._subscriber is not None
        return list(self._subscriber.seen)

    def _until(self, name: str, state: str) -> None:
        until(
            lambda: self._devices().get(name) == state,
            lambda: f"{name} {state}: {self._devices()}; {self._last_words()}",
        )

    @contextmanager
    def _lost_and_up(self, name: str) -> Iterator[None]:
        """What is done inside must bring exactly one device.lost and then one device.up to the broker."""
        before = len(self._seen())
        yield
        self._until(name, "up")

        def came() -> list[str]:
            events = [one for one in self._seen()[before:] if one.data.get("device") == name]
            return [one.type for one in events if one.type in ("device.lost", "device.up")]

        until(lambda: came() == ["device.lost", "device.up"], lambda: f"events of {name}: {came()}")

    # ------------------------------------------------------------------ hands at the machine

    def _attach(self, name: str) -> list[Path]:
        """Attach a device and wait until the kernel has it: ``usbip`` fails while another is on its way."""
        sh("usbip", "attach", "--remote=127.0.0.1", f"--busid={BUSIDS[name]}")
        return until(partial(usb_devices, IDS[name]), f"{name} in the kernel")

    def _keep_attached(self, stop: threading.Event) -> None:
        """What somebody does who puts every plug back that came out."""
        while not stop.wait(1.0):
            for name, ids in IDS.items():
                if not usb_devices(ids) and answers(self._rig.usbip):
                    run("usbip", "attach", "--remote=127.0.0.1", f"--busid={BUSIDS[name]}")

    def _unplug_all(self) -> None:
        assert self._host is not None
        self._host.stop()
        self._host = None
        until(lambda: not attached(), lambda: f"still attached: {attached()}")

    def _opened_in_unit(self, node: str) -> str:
        """What a process in the unit's control group hears when it opens a device: nothing, or the error's name."""
        group = "/sys/fs/cgroup" + shown("ControlGroup")["ControlGroup"]
        code = (
            "import errno,os,sys\n"
            f"open({group + '/cgroup.procs'!r}, 'w').write(str(os.getpid()))\n"
            "try: os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)\n"
            "except OSError as fault: print(errno.errorcode[fault.errno], end='')\n"
        )
        return sh(sys.executable, "-c", code, node)


CHECKS: tuple[Callable[[Check], list[str]], ...] = (
    Check.the_unit_is_active_with_no_device_there,
    Check.its_hardening_is_on,
    Check.the_kernel_attaches_shoe_and_keypad,
    Check.udev_names_the_tray_that_is_plugged_in_late,
    Check.nobody_else_may_open_them,
    Check.a_device_that_goes_is_lost_and_comes_back_by_itself,
    Check.a_hand_is_played,
    Check.what_the_broker_got_is_signed_and_whole,
    Check.a_table_that_hangs_is_started_again,
    Check.the_unit_ends_in_order_and_gives_the_devices_back,
    Check.nothing_was_refused_on_the_way,
)


def main() -> int:
    """Run all checks, whatever becomes of each."""
    EVIDENCE.mkdir(exist_ok=True)
    outside = Outside()
    check = Check(outside)
    try:
        for one in CHECKS:
            name = one.__name__.replace("_", " ")
            try:
                outside.say(check=name, saw=one(check))
            except (Failed, FeltError, RigError, OSError, LookupError, ValueError) as fault:
                outside.say(check=name, failed=f"{type(fault).__name__}: {fault}")
    finally:
        check.close()
        for file, what in (("feltd.log", ("--unit", UNIT)), ("journal.log", ())):
            (EVIDENCE / file).write_text(run("journalctl", "--no-pager", *what).stdout, encoding="utf-8")
    outside.say(ended=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
