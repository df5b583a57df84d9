"""A daemon of nothing but ledger and pump, to be killed: python -m tests.publishing_process FOLDER PORT HANDS."""

import sys
from pathlib import Path

from controller.contract.state import description_body
from controller.contract.topics import Topics
from controller.delivery.flight import PumpSettings
from controller.delivery.mqtt import MqttPublisher, MqttSettings
from controller.delivery.pump import Pump
from tests.ledgers import SOURCE, WALL, Desk, hand_records


def main(folder: Path, port: int, hands: int) -> None:
    with Desk(folder).open() as ledger:
        pump = Pump(
            ledger.path,
            Topics(SOURCE, test=True),
            MqttPublisher(MqttSettings("127.0.0.1", port, "feltd-zg1-t07")),
            notify=lambda kind, data: None,
            description=description_body(SOURCE, ledger.id, test=True, software="0"),
            settings=PumpSettings(backoff_s=0.01),
        )
        pump.start()
        first = ledger.row
        for number in range(hands):
            for rec in hand_records(f"h{first}-{number}"):
                ledger.append([rec], WALL)
                pump.wake()
            sys.stdout.write(f"{ledger.row}\n")
            sys.stdout.flush()
        if pump.stop(20):
            sys.stdout.write("stopped\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
