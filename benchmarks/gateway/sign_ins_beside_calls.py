#!/usr/bin/env python3
"""What a flood of password sign-ins does to calls, in one run on this machine's loopback.

Paid calls come at a fixed rate, so that a slow call does not delay the next one by itself. They are
timed alone, and while 100 people per second try to sign in, each from a different address and with
a login that does not exist: hashes run on half of the processors, at most on two, 32 wait, and all
others are refused. A third side tells what of that is the machine's and not the gateway's: the same
people send a body that is refused without a hash, and as many processes as there were hashes count
instead, under SCHED_IDLE, so that they run only when nothing else wants to. Calls alone are timed
twice in a round: their ratio is what noise makes of 1.0x. Rounds alternate. Printed are medians of
p50 and p99, their ratio to calls alone, the quartiles of p99, and the outcomes of the sign-ins.
h2load times each call. Load is bounded: ROUNDS (3) times four sides of 5 seconds.
"""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from forward_and_hold import BODY, bench_gateway, free_port  # noqa: E402: the path is set above
from nginx_sides import upstream  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS_EACH = int(os.environ.get("SECONDS_EACH", "5"))
CONNECTIONS = 16
PASSWORD = {"password": "rivers carry seven lamps"}
CALLS_PER_SECOND = 800
SIGN_INS_PER_SECOND = 100
HASHING = min(max(os.cpu_count() // 2, 1), 2)  # at a time, by the gateway
WAITING = HASHING + 32  # senders whose hash runs or waits; the others keep to the rate
SENDERS = 100
INTERVAL_SECONDS = (SENDERS - WAITING) / SIGN_INS_PER_SECOND  # of one sender


def timed_calls(url, key):
    """p50 and p99 in us; the first second is not counted."""
    with tempfile.NamedTemporaryFile() as log:
        subprocess.run(
            ["h2load", "--h1", "-t1", f"-c{CONNECTIONS}", f"-D{SECONDS_EACH}",
             f"--rps={CALLS_PER_SECOND // CONNECTIONS}", f"--log-file={log.name}",
             "-H", f"Authorization: Bearer {key}", url],
            check=True, capture_output=True)
        rows = [line.split("\t") for line in pathlib.Path(log.name).read_text().splitlines()]
    if {status for _, status, _ in rows} != {"200"}:
        raise RuntimeError("a call failed")
    begin = min(int(start) for start, _, _ in rows) + 1_000_000
    times = sorted(int(took) for start, _, took in rows if int(start) >= begin)
    return times[len(times) // 2], times[len(times) * 99 // 100]


class SignIns:
    """Sends sign-ins on a schedule until it is closed. Without a password none needs a hash."""

    def __init__(self, address, began, password):
        self.address, self.began, self.password = address, began, password
        self.answers = collections.Counter()
        self.is_over = False
        self.threads = [threading.Thread(target=self.send_some, args=(number,))
                        for number in range(SENDERS)]
        for thread in self.threads:
            thread.start()

    def send_some(self, number):
        # A machine of its own would take no processor from the gateway.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        origin = "http://localhost:%d" % self.address[1]
        due = time.monotonic() + number * INTERVAL_SECONDS / SENDERS
        count = 0
        while not self.is_over:
            time.sleep(max(0, due - time.monotonic()))
            due = max(due, time.monotonic() - INTERVAL_SECONDS) + INTERVAL_SECONDS
            count += 1
            source = f"10.{self.began}.{number}.{count % 250}"
            connection.request("POST", "/v1/sign-in/password", json.dumps(
                {"login": f"nobody.{number}.{count}"} | self.password),
                {"Host": origin[7:], "Origin": origin, "Content-Type": "application/json",
                 "X-Forwarded-For": source})
            reply = connection.getresponse()
            self.answers[json.loads(reply.read())["error"]["code"]] += 1
        connection.close()

    def close(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


class IdleWork:
    """As many processes as hashes run at a time; they count whenever nothing else wants to run."""

    def __init__(self):
        self.processes = [
            subprocess.Popen(["sh", "-c", "while :; do :; done"],
                             preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE,
                                                                      os.sched_param(0)))
            for _ in range(HASHING)]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def main():
    port = free_port()
    origin = upstream(port, BODY)
    gateway, (key,) = bench_gateway(
        f"127.0.0.1:{port}", connections=64, accounts=1, credits=10_000_000,
        settings=["identity.password.enabled=true", "hosts.trusted_proxies=127.0.0.1"])
    url = "http://%s:%d/v1/gateway/bench/item" % gateway.addresses["api"]
    shown = collections.defaultdict(list)
    answers = collections.Counter()
    try:
        timed_calls(url, key)
        for number in range(ROUNDS):
            shown["calls alone"].append(timed_calls(url, key))
            web = gateway.addresses["web"]
            with contextlib.closing(SignIns(web, number, PASSWORD)) as sign_ins:
                shown["beside 100 sign-ins/s"].append(timed_calls(url, key))
            answers += sign_ins.answers
            with (contextlib.closing(SignIns(web, ROUNDS + number, {})) as refused,
                  contextlib.closing(IdleWork())):
                shown["beside idle work"].append(timed_calls(url, key))
            if any(code.startswith("auth.") for code in refused.answers):
                raise RuntimeError(f"sign-ins without a password: {refused.answers}")
            shown["calls alone, again"].append(timed_calls(url, key))
    finally:
        gateway.close()
        origin.close()
    print(f"{CALLS_PER_SECOND} paid calls/s on SQLite, {ROUNDS} rounds of {SECONDS_EACH} s")
    print(f"{'':24} {'p50 us':>8} {'':>7} {'p99 us':>8} {'':>7} quartiles of p99")
    alone = [statistics.median(times) for times in zip(*shown["calls alone"])]
    for name, rounds in shown.items():
        p50, p99 = (statistics.median(times) for times in zip(*rounds))
        all_p99 = [p99 for _, p99 in rounds]
        low, _, high = statistics.quantiles(all_p99) if len(rounds) > 1 else all_p99 * 3
        print(f"{name:24} {p50:8.0f} {p50 / alone[0]:6.2f}x {p99:8.0f} {p99 / alone[1]:6.2f}x "
              f"{low:.0f} to {high:.0f}")
    print("sign-ins: " + ", ".join(f"{count} {code}" for code, count in answers.most_common()))


if __name__ == "__main__":
    main()
