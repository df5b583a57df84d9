"""Events that a scenario names: one that no table ever says can never be checked, and is refused by line."""

from controller.contract.catalogue import DATA
from simulators.scripts.strict import Section, suggestion


def named(section: Section, key: str = "event") -> str:
    """The type of an event. Raises ``ScriptError`` for one that is in no catalogue."""
    return known(section, key, section.text(key))


def known(section: Section, key: str, name: str) -> str:
    """The same for one that was read already."""
    if name not in DATA:
        raise section.wrong(key, name, f"no table says this: see docs/asyncapi.json{suggestion(name, DATA)}")
    return name
