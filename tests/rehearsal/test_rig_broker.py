"""A rig whose own broker is gone says so: nobody else is to blame for what was not delivered."""

import json
import threading
from pathlib import Path

import pytest

from simulators import brokerat
from simulators.broker import MosquittoBroker
from simulators.rehearse import main
from simulators.subscriber import Subscriber
from simulators.verdict import Exit
from tests.rigging import standing
from tests.waiting import wait_until


@pytest.mark.wires
def test_a_broker_that_hung_up_is_remembered(tmp_path: Path) -> None:
    with MosquittoBroker(tmp_path) as broker:
        at = brokerat.on_port(broker.port)
        heard = Subscriber(at, "felt-test/v1/rig/t01")
        try:
            assert (heard.lost, brokerat.unreachable(at)) == (0, "")
            broker.kill()
            wait_until(lambda: heard.lost > 0, 10, "the rig sees that its broker is gone")
            assert "cannot reach its broker" in brokerat.unreachable(at)
            broker.start()
            assert (heard.lost > 0, brokerat.unreachable(at)) == (True, "")
        finally:
            heard.close()
        lost = heard.lost
    assert heard.lost == lost, "a rig that hangs up itself has lost nothing"


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(150)
def test_a_broker_that_dies_in_a_case_is_the_rigs_fault(tmp_path: Path) -> None:
    report, bundles = tmp_path / "report.json", tmp_path / "bundles"
    with standing(tmp_path) as rig:

        def kill() -> None:
            wait_until((tmp_path / "ledger").exists, 60, "the daemon has begun its ledger")
            rig.broker.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        asked = [str(rig.script), "--rig", str(rig.file), "--as", "hand[dealt][shoe]"]
        code = main([*asked, "--report", str(report), "--bundles", str(bundles)])
        killer.join()
    (case,) = json.loads(report.read_text(encoding="utf-8"))["cases"]
    assert (code, case["outcome"]) == (Exit.RIG, "error"), case["lines"]
    assert case["lines"][0].startswith(f"the rig's own broker {rig.broker.uri} hung up; what came of it: ")
    assert (bundles / "hand_dealt_shoe_bench_" / "case.json").exists()
