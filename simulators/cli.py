"""``feltsim``: the simulators' command."""

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "rehearse": ("simulators.rehearse", "play recorded hands and scenarios, and hold the table to what must come out"),
    "demo": ("simulators.demo", "play a few hands through simulated devices, daemon and broker, as a story"),
    "device": ("simulators.device", "serve one simulated device on a real serial, TCP or USB/IP port"),
    "accept": ("simulators.accepting", "show what has changed in a scenario's events, and accept it with a reason"),
    "check": ("simulators.runnable", "say what is wrong with a scenario, or cannot be done so or on a rig"),
    "rig": ("simulators.rigclean", "put aside what a rig's table left of an earlier run"),
    "expand": ("simulators.expand", "the primitive acts of a scenario with their times"),
    "replay": ("simulators.replay", "play a capture's bytes into a daemon"),
    "capture": ("simulators.capture", "make a capture, look into one, open a sealed one"),
    "devices": ("simulators.host", "serve the simulated devices of a table on ptys and USB/IP"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; what stands after its name is its own."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="feltsim", description=__doc__)
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=", ".join(COMMANDS))
    if not given or given[0] in ("-h", "--help"):
        parser.print_help()
        for name, (_, says) in COMMANDS.items():
            print(f"  {name:10} {says}")
        return 0 if given else 2
    command = parser.parse_args(given[:1]).command
    module, _ = COMMANDS[command]
    try:
        result: int = importlib.import_module(module).main(given[1:])
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 0
    return result


if __name__ == "__main__":
    sys.exit(main())
