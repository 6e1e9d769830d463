"""The crash table of payments per call: a real gateway is killed at every point that a paid call
passes (base/crash_points.h), once for each time it passes the point, on both databases. Each row
says what the caller saw, what was paid on the chain, and what the same request with the same
payment gets after the restart.

The table is plugins/x402/CRASHES.md. This test rebuilds it and fails if it differs;
TURNPIKE_UPDATE=1 writes it instead."""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import gateway as gateway_module
from engines import OnPostgres, OnSqlite
from gateway import BUILD, ROOT
from test_x402 import GOOD, PRICE, WAIT_SECONDS, Lane
from waiting import until
from x402 import decoded

TABLE = ROOT / "plugins" / "x402" / "CRASHES.md"
POINTS = dict(re.findall(r'X\((\w+),\s+"([^"]+)"\)',
                         (ROOT / "framework" / "base" / "crash_points.h").read_text()))

# The parties that a call asks over the network, and what for.
VERIFY, SETTLE = "the facilitator, to verify", "the facilitator, to settle"
WORK = "the upstream, for the work"
NETWORK = {
    "upstream_before": "about to be asked: {}",
    "upstream_sent": "asked: {}",
    "upstream_begun": "begins to answer: {}",
    "upstream_whole": "has answered: {}",
}
RECORDS = {
    "record_before": "the state is about to be written",
    "record_after": "the state is durable",
}

Flow = collections.namedtuple("Flow", "title path asks")
FLOWS = [
    Flow("Flow `authorization`", GOOD, (VERIFY, WORK, SETTLE)),
    Flow("Flow `upfront`, `on_failure: retry`", "/upfront" + GOOD, (VERIFY, SETTLE, WORK)),
    Flow("Flow `upfront`, `on_failure: refund`", "/refund" + GOOD, (VERIFY, SETTLE, WORK)),
]

COLUMNS = ("point", "what has been done", "caller saw", "state", "paid", "repeat", "asked",
           "paid in all")
INTRODUCTION = """\
# What a crash leaves of a payment

This is what remains when a gateway dies at any point of a call that is paid per call, on SQLite and
on PostgreSQL alike. `tests/e2e/test_x402_crash.py` pays real transfers on a local chain, kills a
real gateway at every durable write and every step over the network, starts it again on the same
data, and writes this table; it fails when the table is not this one. Where a call comes by a point
more than once, the number says which time it was.

- **Caller saw**: nothing, or all of a reply.
- **State**: of the payment, in the database of the dead gateway (`payment_record.h` says what each
  means); none: it is not known.
- **Paid**: how often the price has moved on the chain by then, whoever knows.
- **Repeat**: what the same request with the same payment gets in the end (until then 503
  `x402.settlement_unknown` or 409 `x402.in_progress`), **asked**: how often the upstream was asked
  for the work by both, and **paid in all**: how often the price has moved by both.

In every row the price has moved once, and for it the caller has the reply, or a refund that is owed
and listed. A caller who saw a reply has paid for it, and is given the same again. In the flow
`authorization` nothing is paid before the work is done and its reply is stored, so the upstream is
never asked again for what was paid. All of this is of payments that repeat the extensions of their
challenge; `README.md` says under Limits what others have.
"""


class CrashTable(Lane):
    maxDiff = None

    def setUp(self):
        directory = gateway_module.new_directory(self)
        self.at, self.log = directory / "at", directory / "log"
        for name, path in (("TURNPIKE_CRASH_AT", self.at), ("TURNPIKE_CRASH_LOG", self.log)):
            os.environ[name] = str(path)
            self.addCleanup(os.environ.pop, name)
        saved, gateway_module.TURNPIKE = (gateway_module.TURNPIKE,
                                          BUILD / "tests" / "turnpike_crash")
        self.addCleanup(setattr, gateway_module, "TURNPIKE", saved)
        self.plugins = gateway_module.plugins_of(self, "http", "x402")
        self.payments = self.owed = 0
        super().setUp()

    def configure(self, *facilitators):
        """Defers the audit of settlements until after the test, because it belongs to no call."""
        super().configure(*facilitators)
        file = self.directory / "turnpike.yaml"
        file.write_text(file.read_text().replace("{rpc_url:", "{audit_after_s: 86400, rpc_url:"))

    def new_payment(self, path):
        self.payments += 1
        return self.payment(path)

    def steps_of(self, flow):
        """Makes an undisturbed call with a fresh process. Returns a list of (point, occurrence) for
        every point that it passes, and how often it passes each."""
        self.restart()
        payment = self.new_payment(flow.path)
        self.log.write_text("")
        self.assert_paid(self.pay(payment, flow.path))
        until(lambda: "reply_ended" in self.log.read_text().split(), "it did not end")
        times, steps = collections.Counter(), []
        for point in self.log.read_text().split():
            if point.startswith(("round_", "purchase_", "refund_")):  # passed by no call
                continue
            times[point] += 1
            steps.append((point, times[point]))
        for point in NETWORK:
            self.assertEqual(times[point], len(flow.asks), point)
        return steps, times

    # --- one row

    def crash(self, flow, point, time, is_repeated):
        step = f"{flow.title}, {point} {time}"
        self.balances, self.calls = self.read_balances(), self.facilitator.calls()
        worked = len(self.upstream.requests)
        payment = self.new_payment(flow.path)
        self.at.write_text(f"{point} {time}")
        try:
            reply = self.pay(payment, flow.path)
        except (OSError, http.client.HTTPException):
            reply = None
        self.assertEqual(self.gateway.process.wait(timeout=WAIT_SECONDS), -9, step)
        self.at.unlink()
        if point in NETWORK:
            self.check_asked(flow.asks[:time - (point == "upstream_before")], worked, step)
        state, paid = self.state_of(payment), self.paid()
        if reply is not None:
            self.assert_paid(reply)
            self.assertEqual(paid, 1, f"{step}: a free reply")
        self.restart()
        repeat = self.check_repeat(flow, payment, reply, step)
        asked = len(self.upstream.requests) - worked
        self.assert_charged(1)
        if flow.asks[-1] == SETTLE and paid:
            self.assertEqual(asked, 1, f"{step}: work that was paid is done again")
        meaning = {**POINTS, **RECORDS, **NETWORK}[point]
        return (f"`{point}`" + (f" {time}" if is_repeated else ""),
                meaning.format(flow.asks[time - 1] if point in NETWORK else ""),
                "nothing" if reply is None else "all", state, str(paid), repeat, str(asked),
                str(self.paid()))

    def check_asked(self, asked, worked, step):
        """Checks that each party in `asked` got its request and is done with it, and that nobody
        else was asked."""
        for one in asked:
            if one == WORK:
                until(lambda: len(self.upstream.requests) > worked, step)
            else:
                name = "verify" if one == VERIFY else "broadcast"
                self.facilitator.wait(name, self.calls[name] + 1)
        self.assertEqual(
            (self.new_calls("verify"), self.new_calls("settle"),
             len(self.upstream.requests) - worked),
            (asked.count(VERIFY), asked.count(SETTLE), asked.count(WORK)), step)

    def check_repeat(self, flow, payment, reply, step):
        again = self.until_ended(payment, flow.path)
        if again.status != 200:
            self.assertEqual((again.status, again.error_code()), (502, "x402.refund_owed"), step)
            self.assertTrue(flow.path.startswith("/refund") and reply is None, step)
            self.owed += 1
            self.assertEqual(len(self.gateway.run_json("x402", "obligations")), self.owed, step)
            return "502 `x402.refund_owed`"
        self.assert_paid(again)
        if reply is not None:
            self.assertEqual((again.body, again.headers["payment-response"]),
                             (reply.body, reply.headers["payment-response"]), step)
        return "the stored reply" if "idempotent-replayed" in again.headers else "run again"

    def paid(self):
        payer, seller = self.balances
        payer_now, seller_now = self.read_balances()
        self.assertEqual(payer - payer_now, seller_now - seller)
        return (seller_now - seller) // PRICE

    def state_of(self, payment):
        nonce = decoded(payment)["payload"]["authorization"]["nonce"]
        [*states] = [f"`{record['state']}`" for record in self.records()
                     if record.get("nonce") == nonce]
        self.assertLessEqual(len(states), 1)
        return states[0] if states else "none"

    # --- all of them

    def table(self, flows):
        text = INTRODUCTION
        for flow in flows:
            steps, times = self.steps_of(flow)
            self.assertGreaterEqual(times["record_after"], 3)
            text += f"\n## {flow.title}\n\n| " + " | ".join(COLUMNS) + " |\n"
            text += "|---" * len(COLUMNS) + "|\n"
            for point, time in steps:
                row = self.crash(flow, point, time, is_repeated=times[point] > 1)
                text += "| " + " | ".join(row) + " |\n"
        owed = self.gateway.run_json("x402", "obligations")
        self.assertEqual([(each["payer"].lower(), each["amount"]) for each in owed],
                         self.owed * [(self.payer.address.lower(), str(PRICE))])
        self.assertEqual(self.gateway.run_json("x402", "unknown"), [])
        [totals] = self.gateway.run_json("x402", "totals")
        self.assertEqual((totals["payments"], totals["settled"], totals["refunds_owed"]),
                         (self.payments, str(self.payments * PRICE), str(self.owed * PRICE)))
        return text

    def test_every_point(self):
        made = self.table(FLOWS)
        if os.environ.get("TURNPIKE_UPDATE"):
            TABLE.write_text(made)
        self.assertEqual(made, TABLE.read_text())


RECORDS_QUERY = "SELECT {} FROM plugin_record WHERE plugin = 'x402' AND key LIKE 'p/%'"


class CrashesOnSqlite(OnSqlite, CrashTable, unittest.TestCase):
    def records(self):
        """Reads a copy, because opening the database itself would recover it."""
        with tempfile.TemporaryDirectory() as copy:
            for file in self.gateway.directory.glob("turnpike.db*"):
                if not file.name.endswith("-shm"):
                    shutil.copy(file, copy)
            with contextlib.closing(sqlite3.connect(pathlib.Path(copy) / "turnpike.db")) as opened:
                return [json.loads(value) for value, in
                        opened.execute(RECORDS_QUERY.format("value"))]


class CrashesOnPostgres(OnPostgres, CrashTable, unittest.TestCase):
    def records(self):
        rows = subprocess.run(
            [self.postgres.binaries / "psql", self.url, "-AtX", "-c",
             RECORDS_QUERY.format("convert_from(value, 'UTF8')")],
            check=True, capture_output=True, text=True).stdout
        return [json.loads(row) for row in rows.splitlines()]


if __name__ == "__main__":
    unittest.main()
