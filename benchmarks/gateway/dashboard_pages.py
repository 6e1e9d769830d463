#!/usr/bin/env python3
"""Measures the dashboard's pages for an account with 100,000 calls in 30 days, on both engines.

The facts are written to the database directly: 10 operations and 5 keys, every twentieth call
failed, each call with an id from its caller. A gateway indexes them and serves the pages on one
connection. Printed are the median, the fastest and the slowest tenth in ms of ROUNDS (30) loads of
each page, and the ratio to the sign-in page, which reads no store, in the same run.
"""

import http.client
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from gateway import Gateway, Postgres  # noqa: E402: the path is set above
from people import Browser, Passkey  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "30"))
FACTS = int(os.environ.get("FACTS", "100000"))
DAY_MS = 86_400_000
STREAM = 900_000  # a stream that no committer uses


def facts(account, keys):
    now_ms = int(time.time() * 1000)
    begin_ms = now_ms - 29 * DAY_MS
    for at in range(FACTS):
        failed = at % 20 == 19
        key = keys[4] if at == FACTS // 2 else keys[at % 4]  # the last key made one call
        yield (STREAM, at + 1, f"00000000-0000-7000-8000-{at:012x}",
               f"00000000-0000-7000-8000-{at:012x}", f"mine-{at}", account, key,
               begin_ms + at * (now_ms - begin_ms) // FACTS, f"route-{at % 10:032x}", 1, "GET",
               "credits", 1, 0 if failed else 1, 1, "gen_0000000000000000",
               "upstream_status" if failed else "success", 500 if failed else 200, 12, 0, "")


def fill_sqlite(gateway, rows):
    database = sqlite3.connect(gateway.directory / "turnpike.db")
    database.executemany(f"INSERT INTO fact VALUES ({', '.join('?' * 21)})", rows)
    database.commit()
    database.close()


def fill_postgres(url, rows):
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    subprocess.run(["psql", "-q", url, "-c", "\\copy fact FROM STDIN"], input=text, text=True,
                   check=True)
    subprocess.run(["psql", "-q", url, "-c", "ANALYZE"], check=True)


def times_of(browser, path):
    """Times of whole loads on one connection, in ms, sorted."""
    connection = http.client.HTTPConnection(*browser.gateway.addresses["web"], timeout=60)
    headers = {"Host": browser.origin.removeprefix("http://"),
               "Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    times = []
    for _ in range(ROUNDS + 3):
        began = time.perf_counter()
        connection.request("GET", path, headers=headers)
        reply = connection.getresponse()
        body = reply.read()
        times.append((time.perf_counter() - began) * 1000)
        assert reply.status == 200, (path, reply.status, body[-500:])
    connection.close()
    return sorted(times[3:])  # the first loads warm up


def measure(engine, postgres):
    url = postgres.new_database() if postgres else None
    gateway = Gateway(postgres_url=url, settings=["accounts.starter_grant.credits=1000000"])
    try:
        gateway.run("migrate")
        account = gateway.run_json("account", "create", "--name", "Bench")["id"]
        keys = [gateway.run_json("key", "create", "--account", account, "--name", f"k{at}")["id"]
                for at in range(5)]
        rows = facts(account, keys)
        if postgres:
            fill_postgres(url, rows)
        else:
            fill_sqlite(gateway, rows)
        gateway.start()
        person = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann",
                                  "--account", account, "--role", "owner")
        browser = Browser(gateway)
        browser.sign_in(person["link"])
        passkey = Passkey()
        browser.enrol(passkey)
        passkey.close()
        base = f"/dashboard/{account}"
        began = time.perf_counter()
        assert browser.send("GET", base).status == 200
        print(f"{engine}: the first page, which indexes what is new: "
              f"{(time.perf_counter() - began) * 1000:.0f} ms")
        # The baseline, in a browser that is not signed in.
        login = statistics.median(times_of(Browser(gateway), "/login"))
        month_ago = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 29 * 86_400))
        for name, path in (
                ("overview", ""), ("calls", "/calls"), ("failed calls", "/calls?outcome=released"),
                ("calls of a key", f"/calls?api_key_id={keys[1]}"),
                ("the one call of a key", f"/calls?api_key_id={keys[4]}"),
                ("a call by its caller's id", "/calls?find=mine-77"),
                ("one call", "/calls/00000000-0000-7000-8000-000000000007"),
                ("usage by day", "/usage"), ("usage by hour", "/usage?granularity=hour"),
                ("30 days by hour", f"/usage?granularity=hour&from={month_ago}"),
                ("billing", "/billing"), ("free quotas", "/free-quotas"), ("status", "/status")):
            times = times_of(browser, base + path)
            median = statistics.median(times)
            print(f"{engine}: {name}: {median:.1f} ms, fastest {times[0]:.1f}, slowest tenth "
                  f"{times[-len(times) // 10]:.1f}, {median / login:.0f}x of the sign-in page "
                  f"({login:.1f})", flush=True)
    finally:
        gateway.close()


def main():
    measure("SQLite", None)
    postgres = Postgres()
    try:
        measure("PostgreSQL", postgres)
    finally:
        postgres.close()


if __name__ == "__main__":
    main()
