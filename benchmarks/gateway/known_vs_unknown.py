#!/usr/bin/env python3
"""Whether the time of an answer tells that a login exists (checklist S16 in docs/protocols.md).

Sign-in with a wrong password, recovery and sign-up are asked in turn for logins that exist and for
ones that do not, over HTTP on this machine's loopback. Recovery and sign-up are asked four times
for each login: no mail follows the fourth within an hour, so it does less. Printed are the medians,
their ratio, and how often a known login takes longer than an unknown one. Chance gives 50 %; 200
rounds can tell 6 points more or less from chance, 100 rounds 8. The answers must be equal. Load is
bounded: ROUNDS (200) of 19 requests, one after the other.
"""

import itertools
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from gateway import Gateway  # noqa: E402: the path is set above
from people import Browser  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "200"))
PASSWORD = "rivers carry seven lamps"
WITH_PASSWORD = "ann@example.org"
ASKED = {
    "sign-in": ("/v1/sign-in/password", lambda login: {"login": login, "password": "wrong"}),
    "recovery": ("/v1/recovery", lambda login: {"login": login}),
    "sign-up": ("/v1/sign-up", lambda login: {"login": login, "name": "Somebody"}),
}


def make_people(gateway):
    person = gateway.run_json("user", "create", "--name", "Ann", "--login", WITH_PASSWORD)
    browser = Browser(gateway)
    browser.sign_in(person["link"])
    status, answer = browser.json("PUT", "/v1/me/password", {"newPassword": PASSWORD})
    assert status == 204, answer
    for number in range(ROUNDS):
        gateway.run_json("user", "create", "--name", "Bob", "--login", known_login(number))


def known_login(number):
    return f"{number}.known@example.org"


def unknown_login(number):
    return f"{number}.nobody@example.org"


def timed(gateway, path, body, number):
    """The status and body of the answer, and its time in us, from an address of its own."""
    browser = Browser(gateway)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    began = time.perf_counter_ns()
    reply = browser.send("POST", path, json.dumps(body),
                         headers={"X-Forwarded-For": address})
    took_us = (time.perf_counter_ns() - began) / 1000
    answer = json.loads(reply.body) if reply.body else {}
    return (reply.status, answer.get("error", {}).get("message")), took_us


def measure(gateway, name, addresses):
    """Of one way to ask: medians of known and unknown logins, and how often the known is slower."""
    path, body = ASKED[name.partition(",")[0]]
    times = {True: [], False: []}
    answers = set()
    for number in range(ROUNDS):
        # Which is first alternates, so that a drift of the machine falls on both.
        for is_known in (True, False) if number % 2 else (False, True):
            login = known_login(number) if is_known else unknown_login(number)
            if is_known and name == "sign-in":
                login = WITH_PASSWORD
            answer, took_us = timed(gateway, path, body(login), next(addresses))
            answers.add(answer)
            times[is_known].append(took_us)
        if name == "sign-in":  # clears the failures, which would delay the next try
            status, _ = Browser(gateway).json(
                "POST", path, {"login": WITH_PASSWORD, "password": PASSWORD})
            assert status == 200
    assert len(answers) == 1, answers
    slower = sum(known > unknown for known in times[True] for unknown in times[False])
    return statistics.median(times[True]), statistics.median(times[False]), slower / ROUNDS**2


def main():
    gateway = Gateway(settings=[
        "identity.registration=open", "identity.password.enabled=true",
        "hosts.trusted_proxies=127.0.0.1", "mail.smtp.host=localhost", "mail.smtp.port=9",
        "mail.smtp.from=noreply@gate.example"]).start()
    try:
        make_people(gateway)
        addresses = itertools.count(1)
        print(f"{ROUNDS} rounds; medians in us; 50 % tells nothing")
        print(f"{'':16} {'known':>9} {'unknown':>9} {'ratio':>7} {'known is slower':>16}")
        asks = [f"{way}, ask {number}" for way in ("recovery", "sign-up") for number in range(1, 5)]
        for name in ("sign-in", *asks):
            known, unknown, slower = measure(gateway, name, addresses)
            print(f"{name:16} {known:9.0f} {unknown:9.0f} {known / unknown:6.3f}x {slower:15.1%}")
    finally:
        gateway.close()


if __name__ == "__main__":
    main()
