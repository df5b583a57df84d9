"""The contract as an AsyncAPI 3 document: ``python -m controller.contract.asyncapi > docs/asyncapi.json``."""

import json
import sys
from typing import Any

from controller.contract.catalogue import STREAMS_OF
from controller.contract.schema import COUNT, UUID, obj, one
from controller.contract.schemas import SNAPSHOT, envelope_schema, own_schema
from controller.contract.topics import MAJOR

RETAINED = ("state", "description", "snapshot")


def document() -> dict[str, Any]:
    """Everything a table sends: a channel per stream and type, and the retained conveniences."""
    channels: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    schemas: dict[str, Any] = {"envelope": envelope_schema()}
    for kind, streams in STREAMS_OF.items():
        schemas[kind] = {"allOf": [{"$ref": "#/components/schemas/envelope"}, own_schema(kind)]}
        messages[kind] = {
            "name": kind,
            "contentType": "application/cloudevents+json",
            "payload": {"$ref": f"#/components/schemas/{kind}"},
        }
        for stream in streams:
            channels[f"{stream}.{kind}"] = _channel(f"{stream}/{kind.replace('.', '/')}", kind)
    for name in RETAINED:
        channels[name] = _channel(name, name)
        messages[name] = {
            "name": name,
            "contentType": "application/json",
            "payload": {"$ref": f"#/components/schemas/{name}"},
            "bindings": {"mqtt": {"bindingVersion": "0.2.0"}},
        }
    schemas["state"] = obj(
        {"state": one("init", "ready", "disconnected", "lost"), "session": COUNT, "ledger": UUID},
    )
    schemas["description"] = {"type": "object"}
    schemas["snapshot"] = SNAPSHOT
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "feltd",
            "version": "1.0.0",
            "description": "What a casino table publishes. Test tables use the root felt-test.",
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": {
            f"send.{name}": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{name}"},
                "bindings": {
                    "mqtt": {"qos": 1, "retain": name in RETAINED, "bindingVersion": "0.2.0"},
                },
            }
            for name in channels
        },
        "components": {"messages": messages, "schemas": schemas},
    }


def _channel(tail: str, message: str) -> dict[str, Any]:
    return {
        "address": f"{{root}}/{MAJOR}/{{site}}/{{table}}/{tail}",
        "parameters": {"root": {"enum": ["felt", "felt-test"]}, "site": {}, "table": {}},
        "messages": {message: {"$ref": f"#/components/messages/{message}"}},
    }


def text() -> str:
    """The document as it is kept in docs/."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
