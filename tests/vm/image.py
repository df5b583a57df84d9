"""Builds the disk of the machine: the host's Debian release, feltd installed as docs/install.md says, the check.

What takes long is kept under ``build/vm`` until its ingredients change: Debian's tree and the wheels. The disk itself
is made anew each time.
"""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.certificates import Authority
from tests.vm.errors import NoMachine

ROOT = Path(__file__).resolve().parents[2]
GUEST = Path(__file__).resolve().parent / "guest"
PACKAGES = (
    "dbus",
    "kmod",
    "libusb-1.0-0",
    "linux-image-amd64",
    "mosquitto",
    "python3",
    "python3-venv",
    "systemd-sysv",
    "udev",
    "usbip",
    "usbutils",
)
SOURCE = ("backoffice", "config", "controller", "drivers", "simulators", "systemd")
FILES = ("pyproject.toml", "README.md", "requirements.lock")
APT_SOURCES = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
DISK = "3G"
STEP_S = 1200.0
"""No single step of the building takes longer."""

PATIENT = "options  = { timeout_ms = 5000, gap_ms = 1000 }"
"""Time in an emulated machine runs in jerks: a byte may come half a second after the one before it,
and a key that is let go may look as if it were held."""
CHANGES: Mapping[str, str] = {
    'profile = "hr_thp"': 'profile = "rs_holdem"',
    "test    = false": "test    = true ",
    'accounting = ["cash"]': 'office = ["play", "cash", "ops", "guard"]',
    "mqtts://broker.example:8883": "mqtts://127.0.0.1:8883",
    "undo_hold_ms     = 2000": "undo_hold_ms     = 30000",
    "entry_timeout_ms = 10000": "entry_timeout_ms = 60000",
    'channels = { "0" = "shoe" }': f'channels = {{ "0" = "shoe" }}\n{PATIENT}',
    'channels = { "0" = "tray" }': f'channels = {{ "0" = "tray" }}\n{PATIENT}',
}
"""What the table of the check has otherwise than config/table.example.toml."""
LEFT_OUT = ("override", "access")
"""Sections that speak of another house, or of persons with PINs: a test table does without."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Image:
    """What the machine boots from."""

    kernel: Path
    initrd: Path
    disk: Path


def build(folder: Path, say: Say) -> Image:
    """Make the disk in a folder that is there. Raises ``NoMachine`` naming the step that failed and what it said."""
    tree = _debian(folder, say)
    wheels = _wheels(folder, tree, say)
    say("installing feltd as docs/install.md says")
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    _run("cp", "--archive", tree, root)
    _install(root, wheels, folder)
    say("making the disk")
    disk = folder / "disk.img"
    disk.unlink(missing_ok=True)
    _run("mke2fs", "-q", "-t", "ext4", "-d", root, disk, DISK)
    shutil.rmtree(root)
    return Image(_one(tree / "boot", "vmlinuz-*"), _one(tree / "boot", "initrd.img-*"), disk)


def table(example: str) -> str:
    """The table of the check, from the example that a technician starts with. Raises ``NoMachine``."""
    for old, new in CHANGES.items():
        if old not in example:
            raise NoMachine(f"config/table.example.toml no longer says {old!r}: correct tests/vm/image.py")
        example = example.replace(old, new)
    for section in LEFT_OUT:
        example, count = re.subn(rf"(?ms)^\[{section}\].*?(?=^\[)", "", example)
        if count != 1:
            raise NoMachine(f"config/table.example.toml has no [{section}]: correct tests/vm/image.py")
    return example


def _debian(folder: Path, say: Say) -> Path:
    tree, made = folder / "tree", folder / "tree.made-of"
    release = platform.freedesktop_os_release()
    if release.get("ID") != "debian" or platform.machine() != "x86_64":
        raise NoMachine("the machine is made of the host's Debian release for x86-64: run this on one")
    suite = release["VERSION_CODENAME"]
    ingredients = " ".join((suite, *PACKAGES))
    if tree.is_dir() and made.exists() and made.read_text(encoding="utf-8") == ingredients:
        return tree
    say(f"fetching Debian {suite} (a few minutes; kept for the next time)")
    made.unlink(missing_ok=True)
    shutil.rmtree(tree, ignore_errors=True)
    sources = next(([path] for path in APT_SOURCES if Path(path).exists()), [])
    _run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", suite, tree, *sources)
    made.write_text(ingredients, encoding="utf-8")
    return tree


def _wheels(folder: Path, tree: Path, say: Say) -> Path:
    """What docs/install.md has a technician collect, and what the simulators need besides, all by the hashed lock."""
    ours = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (tree / "usr" / "bin" / ours).exists():
        theirs = ", ".join(path.name for path in (tree / "usr" / "bin").glob("python3.*"))
        raise NoMachine(f"the environment has {ours}, Debian {theirs}: make clean; make test-vm PYTHON={theirs}")
    wheels, made, lock = folder / "wheels", folder / "wheels.made-of", ROOT / "requirements-dev.lock"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not (made.exists() and made.read_text(encoding="utf-8") == digest):
        say("fetching wheels (kept for the next time)")
        made.unlink(missing_ok=True)
        shutil.rmtree(wheels, ignore_errors=True)
        _pip("download", "--require-hashes", "--only-binary=:all:", "--requirement", lock, "--dest", wheels)
        made.write_text(digest, encoding="utf-8")
    for old in wheels.glob("feltd-*.whl"):
        old.unlink()
    source = folder / "feltd-src"
    _copy(source)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, source)
    _copy(source)  # as it was unpacked: building has left its own in it
    return wheels


def _copy(target: Path) -> None:
    """The source archive, as it would be unpacked on a device."""
    shutil.rmtree(target, ignore_errors=True)
    for name in SOURCE:
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, target / name)


def _install(root: Path, wheels: Path, folder: Path) -> None:
    place = root / "usr" / "src"
    shutil.copytree(folder / "feltd-src", place / "feltd-src")
    shutil.copytree(wheels, place / "wheels")
    check = root / "opt" / "check"
    shutil.copytree(GUEST, check / "tests" / "vm" / "guest", ignore=shutil.ignore_patterns("__pycache__"))
    for package in ("tests", "tests/vm"):  # by the names that its modules have here
        shutil.copy(ROOT / package / "__init__.py", check / package)
    example = (ROOT / "config" / "table.example.toml").read_text(encoding="utf-8")
    (check / "t07.toml").write_text(table(example), encoding="utf-8")
    certificates = check / "certificates"
    certificates.mkdir()
    Authority(certificates).issue("broker", "127.0.0.1")
    # systemd's tools want /proc; the mount ends with the namespace.
    inside = 'mount -t proc proc "$0/proc"; exec chroot "$0" env -i "$@"'
    clean = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root")
    script = "/opt/check/tests/vm/guest/install.sh"
    _run("unshare", "--mount", "sh", "-euc", inside, root, *clean, "sh", "-eu", script)
    for path in (place / "wheels", place / "feltd-src"):
        shutil.rmtree(path)


def _pip(*arguments: str | Path) -> None:
    _run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def _run(*command: str | Path) -> None:
    """Run one step. Raises ``NoMachine``."""
    try:
        done = subprocess.run(
            ["nice", "-n", "15", *command],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=STEP_S,
        )
    except subprocess.TimeoutExpired as late:
        raise NoMachine(f"{command[0]} did not end within {STEP_S:g} s") from late
    if done.returncode != 0:
        raise NoMachine(f"{command[0]} ended with {done.returncode}: {_last(done.stdout + done.stderr)}")


def _last(said: str) -> str:
    lines = said.strip().splitlines()
    return "\n  ".join(lines[-20:]) or "it said nothing"


def _one(folder: Path, pattern: str) -> Path:
    found: Iterable[Path] = sorted(folder.glob(pattern))
    for path in found:
        return path
    raise NoMachine(f"{folder}: there is no {pattern}")
