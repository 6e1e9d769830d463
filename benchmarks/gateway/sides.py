"""Sides of a comparison: wrk drives the servers in turn, and each has its rate and the CPU of its
own processes. Rounds alternate, because machines are noisy; the first round is not counted.
"""

import os
import pathlib
import re
import statistics
import subprocess

from forward_and_hold import ROUNDS, SECONDS_EACH

CONNECTIONS = 32
UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}


def cpu_seconds(pid):
    """CPU seconds of a process and its children."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(child) for child in children)


class Side:
    def __init__(self, name, pid):
        self.name, self.pid = name, pid
        self.forget()

    def forget(self):
        self.rates, self.cpu_us = [], []

    def wrk(self, *words, refused=False):
        """Runs one round. With `refused`, no reply may be a 2xx, otherwise all must be. Returns
        bytes per reply."""
        before = cpu_seconds(self.pid)
        output = subprocess.run(
            ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{SECONDS_EACH}s", *words],
            capture_output=True, text=True, check=True).stdout
        cpu = cpu_seconds(self.pid) - before
        count, size, unit = re.search(r"(\d+) requests in .*, ([\d.]+)([KMG]?B) read",
                                      output).groups()
        requests = int(count)
        other = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        is_as_asked = (int(other.group(1)) if other else 0) == (requests if refused else 0)
        if requests == 0 or "Socket errors" in output or not is_as_asked:
            raise RuntimeError(f"{self.name}: not what was asked for\n{output}")
        self.rates.append(float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1)))
        self.cpu_us.append(cpu / requests * 1e6)
        return float(size) * UNITS[unit] / requests

    def rate(self):
        return statistics.median(self.rates)


def compare(title, sides, measure):
    """Prints a line for each side, with its ratio to the first."""
    for side in sides:
        side.forget()
    for number in range(ROUNDS + 1):
        for side in sides if number % 2 == 0 else reversed(sides):
            measure(side)
            if number == 0:
                side.forget()
    for side in sides:
        print(f"{title:22} {side.name:26} {side.rate():11.0f} "
              f"{statistics.median(side.cpu_us):9.0f} {side.rate() / sides[0].rate():10.2f}x",
              flush=True)


def print_head(note, first):
    print(f"{note}, {CONNECTIONS} connections, {ROUNDS} rounds of {SECONDS_EACH} s")
    print(f"{'call':22} {'by':26} {'requests/s':>11} {'CPU us':>9} {first:>11}")
