"""``make fuzz SECONDS=n``: atheris, which follows the branches of the code, on every target for its share of the time.

What it finds is left in ``build/fuzz``: the corpus, and a file ``crash-...`` for bytes that break a target. Give such
a file to ``python -m tests.fuzzing.run TARGET FILE`` to see it again.
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST = 512
SLOWEST_S = 20
MEMORY_MB = 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
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
    if asked.target:
        return _fuzz(asked.target, asked.corpus, asked.seconds)
    return _all(asked.corpus, asked.vectors, asked.seconds)


def _all(corpus: Path, vectors: Path, seconds: int) -> int:
    """Every target in a process of its own, for an equal share of the time."""
    from tests.fuzzing.targets import TARGETS, seeds

    broken = []
    share = max(1, seconds // len(TARGETS))
    for target in TARGETS:
        folder = corpus / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds(vectors)):
            (folder / f"seed-{number:03}").write_bytes(seed)
        began = time.monotonic()
        command = [sys.executable, "-m", "tests.fuzzing.run", target, "--seconds", str(share), "--corpus", str(corpus)]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        runs = [line for line in ran.stderr.splitlines() if "stat::number_of_executed_units" in line]
        count = runs[0].split()[-1] if runs else "?"
        how, took = "well" if ran.returncode == 0 else "BROKEN", time.monotonic() - began
        sys.stdout.write(f"{target:22} {how:6} {count} runs, {took:.0f} s\n")
        sys.stdout.flush()
        if ran.returncode != 0:
            broken.append(target)
            sys.stdout.write(ran.stderr[-3000:])
    return 1 if broken else 0


def _fuzz(target: str, corpus: Path, seconds: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["drivers", "controller", "simulators"]):
        from tests.fuzzing.targets import TARGETS
    (corpus / target).mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        f"-timeout={SLOWEST_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={corpus / target}.",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus / target)], TARGETS[target])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
