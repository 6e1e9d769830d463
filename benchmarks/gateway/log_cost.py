#!/usr/bin/env python3
"""What the access log costs: calls per second with the log on, as a ratio to those with it off.

One gateway answers one uninterrupted load while `turnpike log level` switches between `info`, which
writes a line for each call to a file, and `error`, which writes none. Two processes of one program
can differ by more than the log costs, and so can two runs of a load generator; here nothing but the
level changes. Each pair is a slice with the log and one without, in random order and directly one
after the other. Calls are counted by the gateway's own metric, between two reads of it.

Cells are `:free` and paid calls (Credits, on SQLite), 64 and 512 connections, h2load with one
account and wrk with 1,000. Printed are, for each cell and for all, the geometric mean of the ratios
and its 95 % confidence interval, and the same of the gateway's CPU a call. The asked 0.97x holds if
the interval of all cells lies above it and that of no cell lies below it: a cell's mean alone is
uncertain by as much as the log costs. The log is emptied after each slice, so that the ledger has
the disk to itself.

Load is bounded: PAIRS (100) of two slices of SLICE_SECONDS (0.2) for each of eight cells, nine
minutes in all; shorter slices average out more of the machine's noise in the same time. CELLS, such
as "free wrk 512;paid h2load 64", measures some cells alone.
"""

import itertools
import json
import math
import os
import random
import re
import socket
import statistics
import subprocess
import time

from driving import cpu_us
from forward_and_hold import ACCOUNTS, BODY, bench_gateway, free_port, scripts
from nginx_sides import upstream

PAIRS = int(os.environ.get("PAIRS", "100"))
SLICE_SECONDS = float(os.environ.get("SLICE_SECONDS", "0.2"))
# After a switch, for the calls in flight. The next slice may write lines gathered before it: a few
# blocks of each loop, a tenth of the work of the log's thread.
SETTLE_SECONDS = 0.05
WARMING_SECONDS = 3
PER_PAIR_SECONDS_MAX = 2 * SLICE_SECONDS + 3  # the load generator is told to run that long
ASKED = 0.97
CELLS = [(lane, tool, connections) for lane in ("free", "paid") for connections in (64, 512)
         for tool in ("h2load", "wrk")]


class Measured:
    """A gateway under load, and how fast it answers at a level of its log."""

    def __init__(self, lane, tool, connections):
        port = free_port()
        self.servers = [upstream(port, BODY)]
        self.generator = None
        try:
            self.gateway, keys = bench_gateway(f"127.0.0.1:{port}", connections=512,
                                               accounts=ACCOUNTS, credits=10**9)
            self.servers.append(self.gateway)
            self.generator = self.start_load(lane, tool, connections, keys)
        except BaseException:
            self.close()
            raise

    def start_load(self, lane, tool, connections, keys):
        url = "http://%s:%d/v1/gateway/bench/item%s" % (
            *self.gateway.addresses["api"], ":free" if lane == "free" else "")
        seconds = math.ceil(WARMING_SECONDS + PAIRS * PER_PAIR_SECONDS_MAX)
        if tool == "wrk":
            _, paid = scripts(self.gateway.directory, keys)
            command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "-s", paid, url]
        else:
            command = ["h2load", "--h1", "-t2", f"-c{connections}", f"-D{seconds}",
                       "-H", f"Authorization: Bearer {keys[0]}", url]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def close(self):
        if self.generator is not None:
            self.generator.kill()
            self.generator.wait()
        for server in reversed(self.servers):
            server.close()

    def answered(self):
        """Calls answered so far and the time of that count. All must be 2xx."""
        before = time.perf_counter()
        text = self.gateway.get("/metrics", host="operator").body.decode()
        at = (before + time.perf_counter()) / 2
        counts = dict.fromkeys(("2xx", "other"), 0)
        for labels, count in re.findall(r"^turnpike_http_requests_total{(.*)} (\d+)$", text, re.M):
            if 'endpoint="gateway"' in labels:
                counts["2xx" if 'status="2xx"' in labels else "other"] += int(count)
        if counts["other"] or self.generator.poll() is not None:
            raise RuntimeError(f"replies that are not 2xx, or no load generator: {counts}")
        if not re.search(r"^turnpike_log_lines_dropped_total 0$", text, re.M):
            raise RuntimeError("the log has dropped lines, which cost less than written ones")
        return counts["2xx"], at

    def switch(self, level):
        """As `turnpike log level` does, without the time that a process takes."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.gateway.directory / "control.sock"))
            control.sendall(json.dumps({"command": "log_level", "level": level}).encode() + b"\n")
            answer = json.loads(control.makefile().readline())
        if not answer.get("ok"):
            raise RuntimeError(f"the gateway does not set its level: {answer}")

    def slice(self, level):
        """Calls per second, and us of the gateway's CPU a call."""
        self.switch(level)
        time.sleep(SETTLE_SECONDS)
        pids = [self.gateway.process.pid]
        used_before, (count_before, started) = sum(cpu_us(pids).values()), self.answered()
        time.sleep(SLICE_SECONDS)
        used, (count, ended) = sum(cpu_us(pids).values()), self.answered()
        os.truncate(self.gateway.directory / "log", 0)
        calls = count - count_before
        return calls / (ended - started), (used - used_before) / calls


def mean_and_interval(ratios):
    """The geometric mean, and the ends of its 95 % confidence interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.mean(logs)
    error = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(math.exp(each) for each in (mean, mean - error, mean + error))


def told(ratios):
    return "%.3fx (%.3f to %.3f)" % mean_and_interval(ratios)


def measure(lane, tool, connections):
    """The ratios of calls per second, one for each pair, and those of the CPU a call."""
    measured = Measured(lane, tool, connections)
    ratios, cpu, rates = [], [], []
    try:
        time.sleep(WARMING_SECONDS)
        for _ in range(PAIRS):
            pair = {level: measured.slice(level) for level in random.sample(("info", "error"), 2)}
            rates.append(pair["info"][0])
            ratios.append(pair["info"][0] / pair["error"][0])
            cpu.append(pair["info"][1] / pair["error"][1])
    finally:
        measured.close()
    print(f"{lane:5} {tool:6} {connections:4} connections {statistics.median(rates):6.0f} calls/s  "
          f"{told(ratios)}  CPU a call {told(cpu)}", flush=True)
    return ratios, cpu


def main():
    wanted = [each.split() for each in os.environ.get("CELLS", "").split(";") if each]
    cells = [(lane, tool, int(connections)) for lane, tool, connections in wanted] or CELLS
    print(f"log on to log off, {PAIRS} pairs of slices of {SLICE_SECONDS} s, "
          "geometric means and their 95 % confidence intervals")
    ratios, cpu = zip(*(measure(*cell) for cell in cells))
    all_ratios, all_cpu = [list(itertools.chain(*cells)) for cells in (ratios, cpu)]
    holds = (mean_and_interval(all_ratios)[1] >= ASKED and
             all(mean_and_interval(cell)[2] >= ASKED for cell in ratios))
    print(f"all cells {told(all_ratios)}  CPU a call {told(all_cpu)}  "
          f"{ASKED}x {'yes' if holds else 'NO'}")


if __name__ == "__main__":
    main()
