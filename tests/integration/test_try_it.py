"""The walk in docs/try-it.md, run as it is written."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT


@pytest.mark.slow
def test_the_walk_ends_as_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "try-it.md").read_text(encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    walk = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("32400", port)
    done = subprocess.run(
        ["bash", "-c", 'trap "kill \\$(jobs -p) 2> /dev/null" EXIT\n' + walk],
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "no fault found" in done.stdout
    assert "award.paid" in done.stdout
    assert "table.closed" in done.stdout
    assert "\nwhole\n" in done.stdout
    assert "seats = [2, 1]" in done.stdout
    assert "refused" not in done.stdout
