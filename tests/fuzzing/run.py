"""``make fuzz SECONDS=n``: atheris, which follows the branches of the code, for so long over all targets together.

Every target has an equal share of what is left once the code has been made ready, and a second at least. What it finds
is left in ``build/fuzz``: the corpus, and a file ``crash-...`` for bytes that break a target. Give such a file to
``python -m tests.fuzzing.run TARGET FILE`` to see it again.
"""

import argparse
import importlib.util
import io
import os
import sys
import tempfile
import time
from contextlib import redirect_stderr
from pathlib import Path

BEGAN = time.monotonic()
ROOT = Path(__file__).resolve().parent.parent.parent
LEAST_S = 1
LONGEST = 512
SLOWEST_S = 20
MEMORY_MB = 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--seconds", type=int, default=60, help="in all")
    parser.add_argument("--corpus", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--vectors", type=Path, default=ROOT.parent / "shared" / "data" / "device_vectors.json")
    asked = parser.parse_args()
    if asked.file:
        from tests.fuzzing.targets import TARGETS

        TARGETS[asked.target](asked.file.read_bytes())
        return 0
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("atheris is not installed: make fuzz installs it where it has a wheel for this Python\n")
        return 3
    return _all(asked.target, asked.corpus, asked.vectors, asked.seconds)


def _all(only: str | None, corpus: Path, vectors: Path, seconds: int) -> int:
    """The targets one after the other, each in a process of its own; the code is made ready once for all of them."""
    import atheris

    # It tells every module that it has made ready.
    told = redirect_stderr(io.StringIO())
    with told, atheris.instrument_imports(include=["drivers", "controller", "simulators"]):
        from tests.fuzzing.targets import TARGETS, seeds

    targets = [target for target in TARGETS if only in (None, target)]
    ready = time.monotonic() - BEGAN
    more = f"; {LEAST_S} s each is the least" if seconds - ready < LEAST_S * len(targets) else ""
    sys.stdout.write(f"{len(targets)} targets, {seconds} s in all, {ready:.0f} s of them to make ready{more}\n")
    broken = False
    for number, target in enumerate(targets):
        left = seconds - (time.monotonic() - BEGAN)
        share = max(LEAST_S, int(left / (len(targets) - number)))
        folder = corpus / target
        folder.mkdir(parents=True, exist_ok=True)
        for count, seed in enumerate(seeds(vectors)):
            (folder / f"seed-{count:03}").write_bytes(seed)
        broken |= not _fuzzed(target, folder, share)
    return 1 if broken else 0


def _fuzzed(target: str, folder: Path, seconds: int) -> bool:
    """Fuzz in a copy of this process, which ends with it, and tell how that went."""
    began = time.monotonic()
    sys.stdout.flush()
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if child == 0:
            os.dup2(told.fileno(), sys.stderr.fileno())
            _fuzz(target, folder, seconds)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.seek(0)
        said = told.read().decode(errors="replace")
    runs = [line.split()[-1] for line in said.splitlines() if "stat::number_of_executed_units" in line]
    how, took = "well" if code == 0 else "BROKEN", time.monotonic() - began
    sys.stdout.write(f"{target:22} {how:6} {runs[0] if runs else '?'} runs, {took:.0f} s\n")
    if code != 0:
        sys.stdout.write(said[-3000:])
    return code == 0


def _fuzz(target: str, folder: Path, seconds: int) -> None:
    import atheris

    from tests.fuzzing.targets import TARGETS

    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        f"-timeout={SLOWEST_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={folder}.",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
