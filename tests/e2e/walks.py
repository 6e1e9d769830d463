"""Runs the scripts of tests/browser, most of which walk through pages in Debian's Chromium."""

import contextlib
import json
import os
import pathlib
import subprocess
import threading

from gateway import ROOT
from parts import require_packages

BROWSER = ROOT / "tests" / "browser"
LIMIT_S = 1_500


def walk(script, steps, answer=None, *, gateway=None):
    """Returns what the script has seen. Each time it waits, answer(what) does what it waits for. It
    is killed after LIMIT_S.
    The error of a script that fails has the end of the gateway's log. Pictures of pages go to the
    folder TURNPIKE_SCREENSHOTS, if that is set."""
    require_packages(BROWSER)
    folder = os.environ.get("TURNPIKE_SCREENSHOTS")
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        steps = {**steps, "screenshots": str(pathlib.Path(folder).resolve())}
    with subprocess.Popen(["node", script], cwd=BROWSER, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        limit = threading.Timer(LIMIT_S, process.kill)
        limit.start()
        try:
            send(process, json.dumps(steps))
            for line in process.stdout:
                if line[0] in "[{":
                    break
                answer(line.strip())
                send(process, "")
            else:
                line = ""
            _, errors = process.communicate()
        finally:
            limit.cancel()
            process.kill()
    if process.returncode != 0:
        log = gateway.log_text()[-2_000:] if gateway else ""
        raise RuntimeError(f"{script} ended with {process.returncode}: {errors}\n{log}")
    return json.loads(line)


def send(process, line):
    with contextlib.suppress(BrokenPipeError):  # if it has ended, its standard error says why
        print(line, file=process.stdin, flush=True)
