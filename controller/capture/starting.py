"""Where a daemon's capture goes, what it is made with, and what became of it."""

from dataclasses import dataclass
from pathlib import Path

import structlog

from controller.capture import older
from controller.capture.errors import CaptureDamaged, CaptureUnwritable
from controller.capture.recorder import CapturedDevice, Origin, Recorder
from controller.configuration.settings import DeviceSettings, Settings
from controller.errors import LocalError
from controller.ledger.keys import load_auditor_public_key
from controller.runtime.clock import Clock

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CaptureTo:
    """``--capture FILE`` and its bounds: at most ``keep`` older files of ``limit_mb`` beside the one written."""

    path: Path
    limit_mb: int = 64
    keep: int = 4


@dataclass(frozen=True, slots=True)
class Capturing:
    """What became of the capture that was asked for, if one was. A table plays with it or without."""

    asked: bool = False
    recorder: Recorder | None = None
    not_begun: str = ""
    aside: Path | None = None
    """Where a damaged file of before lies now."""

    @property
    def running(self) -> bool:
        """Whether it is being written."""
        return self.recorder is not None and not self.recorder.failure

    def trouble(self) -> str:
        """What is wrong with it, and what to do; empty where nothing is."""
        if self.not_begun:
            return f"not begun: {self.not_begun}"
        if self.recorder is not None and (why := self.recorder.failure):
            return (
                f"ended: {why}: mend it, then start the table again between two hands; until then nothing is captured"
            )
        if self.aside is not None and self.aside.exists():
            return f"{self.aside}: damaged before this start, a new file was begun: keep it elsewhere, look at the disk"
        return ""

    def close(self) -> None:
        """The run is over."""
        if self.recorder is not None:
            self.recorder.close()


def begin(to: CaptureTo, settings: Settings, ledger: tuple[str, int], clock: Clock) -> Capturing:
    """Begin a capture: plain in test mode, else sealed to the auditor's key. ``ledger``: its id and its last row.

    A damaged file of before is put aside. Where the disk takes none, the table starts without. Raises ``LocalError``
    where there is no such key, ``CaptureError`` where the file that was named is none for a capture.
    """
    public = settings.ledger.auditor_public_key
    if not settings.setup.test and public is None:
        raise LocalError("--capture", str(to.path), "is sealed outside test mode: set ledger.auditor_public_key")
    origin = Origin(settings.setup, *ledger, tuple(_device(device) for device in settings.devices))
    auditor = None if settings.setup.test or public is None else load_auditor_public_key(public)

    def recorder() -> Recorder:
        return Recorder(
            to.path,
            origin,
            mono_ns=clock.now(),
            wall_ns=clock.wall(),
            auditor=auditor,
            limit_mb=to.limit_mb,
            keep=to.keep,
            failed=lambda why: log.error("the capture ended: the table goes on without", why=why),
        )

    try:
        try:
            return Capturing(asked=True, recorder=recorder())
        except CaptureDamaged as error:
            aside = older.put_aside(to.path)
            log.warning("a damaged capture was put aside, a new one is begun", what=error.what, file=str(aside))
            return Capturing(asked=True, recorder=recorder(), aside=aside)
    except CaptureUnwritable as error:
        log.warning("no capture is made: the table starts without", why=str(error))
        return Capturing(asked=True, not_begun=str(error))


def _device(device: DeviceSettings) -> CapturedDevice:
    return CapturedDevice(device.name, device.driver, device.uri, dict(device.expect), dict(device.options))
