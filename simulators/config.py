"""Writes the table of a rehearsal as the files a daemon reads: configuration, chips, keys."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.ledger.keys import create_auditor_key, create_signing_key
from simulators.layout import Device
from simulators.plan import SITE, TABLE, Plan

PATIENCE_MS = {"timeout_ms": 500, "gap_ms": 50}
"""How long a driver waits for an answer and within one, in real time: the defaults of the drivers."""


def write(
    plan: Plan,
    folder: Path,
    uris: Mapping[str, str],
    broker: str,
    version: str,
    ledger: Path,
    speed: int = 1,
    metrics: int = 0,
) -> Path:
    """Write all files into ``folder`` and return the table's configuration. Keys lie beside the ledger."""
    # The table's time runs faster than that of processes and wires: a driver must not lose patience for that.
    patience = {name: ms * speed for name, ms in PATIENCE_MS.items()}
    (folder / "chips.toml").write_text(_chips(plan), encoding="utf-8")
    (folder / "chips.csv").write_text("tag,chip\n" + "".join(f"{t},{c}\n" for t, c in plan.tags.items()), "utf-8")
    if plan.deck:
        (folder / "deck.csv").write_text("tag,card\n" + "".join(f"{t},{c}\n" for t, c in plan.deck.items()), "utf-8")
    card_key, signing = Path(f"{ledger}.card-key"), Path(f"{ledger}.signing-key")
    if not card_key.exists():
        create_auditor_key(card_key, Path(f"{card_key}.pub"))
        create_signing_key(signing, Path(f"{signing}.pub"), test=True)
    table: dict[str, Any] = {
        "schema": 1,
        "site": SITE,
        "table": TABLE,
        "kind": plan.kind,
        "seats": plan.places,
        "profile": plan.profile,
        "state_dir": str(folder),
        "test": True,
        "closed_cards": plan.closed_cards,
        "seed": plan.seed,
        "override": dict(plan.override),
        "currency": {"code": plan.stakes.currency, "exponent": plan.stakes.exponent},
        "limits": plan.limits_data(),
        "chips": {"file": "chips.toml", "tags": "chips.csv"},
        "deck": {"id": "rehearsal"} | ({"file": "deck.csv"} if plan.deck else {}),
        "broker": {"uri": broker, "version": version},
        "ledger": {
            "file": str(ledger),
            "device_key": f"{ledger}.device-key",
            "auditor_public_key": f"{card_key}.pub",
            "signing_key": str(signing),
        },
        "socket": {"path": str(folder / "feltd.sock")},
        "devices": {device.name: _device(device, uris[device.name], patience, speed) for device in plan.layout.devices},
    }
    if metrics:
        table["metrics"] = {"port": metrics}
    path = folder / "table.toml"
    path.write_text(toml(table), encoding="utf-8")
    return path


def _device(device: Device, uri: str, patience: Mapping[str, int], speed: int) -> dict[str, Any]:
    told: dict[str, Any] = {"driver": device.driver, "uri": uri}
    if device.expect:
        told["expect"] = dict(device.expect)
    if device.places:
        told["channels"] = dict(device.places)
    if device.driver != "keypad":
        # A tray alone may be read in real time; antennas that see bets must keep up with the hands.
        alone = device.driver == "feig" and not device.options
        told["options"] = {**patience, **({"poll_ms": 200 * speed} if alone else {}), **device.options}
    return told


def _chips(plan: Plan) -> str:
    denominations = [{"id": f"c{value}", "value": value} for value in sorted(plan.stakes.chips)]
    return 'id = "rehearsal"\n' + "".join(f"[[denominations]]\n{toml(one)}" for one in denominations)


def toml(table: Mapping[str, Any], prefix: str = "") -> str:
    """A table of plain values and tables as TOML."""
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    text = "".join(f"{_key(key)} = {json.dumps(value)}\n" for key, value in plain.items())
    for key, value in table.items():
        if isinstance(value, Mapping):
            name = f"{prefix}{_key(key)}"
            text += f"[{name}]\n{toml(value, f'{name}.')}"
    return text


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)
