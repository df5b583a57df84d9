"""Test mode: recorded when it is entered and left, told apart from live play by ledger, topic, flag and key."""

import json
from pathlib import Path

import pytest

from controller.contract.topics import Source
from controller.ledger.errors import LedgerError
from controller.ledger.keys import Keys, create_signing_key, load_verify_key
from controller.ledger.store import Ledger
from controller.ledger.verify import verify
from tests.running import Running, write_config

pytestmark = [pytest.mark.wires, pytest.mark.timeout(120)]


def test_a_rehearsal_says_so_from_its_first_to_its_last_word(tmp_path: Path) -> None:
    create_signing_key(tmp_path / "signing", tmp_path / "signing.pub", test=True)
    create_signing_key(tmp_path / "live", tmp_path / "live.pub")
    config = write_config(tmp_path)
    config.write_text(f'{config.read_text()}[ledger]\nsigning_key = "signing"\n', encoding="utf-8")
    with Running(config) as daemon:
        assert daemon.status["test"] is True
        daemon.do("open")
        daemon.do("close")
        assert daemon.stop() == 0
    types = [record.type for record in daemon.records()]
    assert types.index("test.entered") < types.index("table.opened") < types.index("test.left")
    assert types[-1] == "ledger.signed" or types.index("daemon.stopped") > types.index("test.left")
    keys = Keys.load(device=tmp_path / "t07.device-key", signing=tmp_path / "signing", test=True)
    with Ledger.open(daemon.ledger, source=Source("zg1", "t07"), test=True, keys=keys) as ledger:
        assert all(json.loads(body)["test"] is True for body in ledger.tail(1000))
    with pytest.raises(LedgerError, match="its test is 'true'"):
        Ledger.open(daemon.ledger, source=Source("zg1", "t07"), test=False, keys=keys)
    # Whoever has pinned the table's live key takes none of it for live play.
    pinned = [load_verify_key(tmp_path / "live.pub")]
    assert not verify(daemon.ledger, public_keys=pinned).ok
    assert verify(daemon.ledger, public_keys=[load_verify_key(tmp_path / "signing.pub")]).ok
