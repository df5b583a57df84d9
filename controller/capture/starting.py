"""Where a daemon's capture goes, and what it is made with."""

from dataclasses import dataclass
from pathlib import Path

import structlog

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


def begin(to: CaptureTo, settings: Settings, ledger: tuple[str, int], clock: Clock) -> Recorder:
    """Begin a capture: plain in test mode, else sealed to the auditor's key. ``ledger``: its id and its last row.

    Raises ``LocalError`` where there is no such key, ``CaptureError`` where the file cannot be written.
    """
    public = settings.ledger.auditor_public_key
    if not settings.setup.test and public is None:
        raise LocalError("--capture", str(to.path), "is sealed outside test mode: set ledger.auditor_public_key")
    origin = Origin(settings.setup, *ledger, tuple(_device(device) for device in settings.devices))
    return Recorder(
        to.path,
        origin,
        mono_ns=clock.now(),
        wall_ns=clock.wall(),
        auditor=None if settings.setup.test or public is None else load_auditor_public_key(public),
        limit_mb=to.limit_mb,
        keep=to.keep,
        failed=lambda why: log.error("the capture ended: the table goes on without", why=why),
    )


def _device(device: DeviceSettings) -> CapturedDevice:
    return CapturedDevice(device.name, device.driver, device.uri, dict(device.expect), dict(device.options))
