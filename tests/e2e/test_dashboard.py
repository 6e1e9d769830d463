"""The dashboard's pages: a person signs in, calls are made with a key, and the figures on each page
equal those of the API and of the ledger. On both engines."""

import csv
import html.parser
import io
import json
import re
import subprocess
import unittest
import urllib.parse

import test_unknown
from engines import OnPostgres, OnSqlite
from gateway import GOVDATA_IMPORT, Gateway
from people import Browser, Passkey
from waiting import until

BASE = "/v1/gateway/govdata/global/v1"
HOSTILE = "<script>alert(1)</script>\"'&"


class Page(html.parser.HTMLParser):
    """The words, links, tables, attributes and tags of a page."""

    def __init__(self, reply):
        super().__init__()
        self.status, self.text = reply.status, reply.body.decode()
        self.words, self.links, self.tables, self.attributes, self.tags = "", [], [], [], []
        self.cell = None
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]
        if tag == "a":
            self.links.append(dict(attributes).get("href"))
        if tag == "table":
            self.tables.append([])
        if tag == "tr" and self.tables:
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.cell = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        self.words += data
        if self.cell is not None:
            self.cell += data

    def rows(self, table=0):
        """The rows below the head, each a dict by column name."""
        head, *rows = self.tables[table]
        return [dict(zip(head, row)) for row in rows]

    def figures(self):
        return [int(text.replace(",", ""))
                for text in re.findall(r"<b>([\d,]+)</b></a><span>", self.text)]


class Dashboard(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(postgres_url=cls.postgres_url(),
                              settings=["accounts.starter_grant.credits=100"])
        cls.addClassCleanup(cls.gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        cls.gateway.directory / "govdata.db"], check=True, capture_output=True)
        cls.gateway.start()
        cls.account = cls.gateway.run_json("account", "create", "--name", HOSTILE)["id"]
        made = cls.gateway.run_json("key", "create", "--account", cls.account, "--name", HOSTILE)
        cls.key, cls.key_id = made["secret"], made["id"]
        other = cls.gateway.run_json("key", "create", "--account", cls.account, "--name", "b")
        cls.other_key, cls.other_key_id = other["secret"], other["id"]
        cls.passkey = Passkey()
        cls.addClassCleanup(cls.passkey.close)
        cls.browser = cls.member_of(cls.account, "ann", cls.passkey)
        cls.make_calls()

    @classmethod
    def member_of(cls, account, login, passkey, role="member"):
        person = cls.gateway.run_json("user", "create", "--name", login, "--login", login,
                                      "--account", account, "--role", role)
        browser = Browser(cls.gateway)
        browser.sign_in(person["link"])
        browser.enrol(passkey)
        return browser

    @classmethod
    def make_calls(cls):
        """Makes five successful calls, one of them with the other key, and a failed one."""
        cls.ids = []
        for at in range(5):
            reply = cls.gateway.get(BASE + "/meta/pricing",
                                    key=cls.other_key if at == 4 else cls.key,
                                    headers=[("X-Request-Id", f"mine-{at}")])
            assert reply.status == 200, reply.body
            cls.ids.append(reply.headers["x-request-id"])
        failed = cls.gateway.get(BASE + "/daos/no-such-dao/brief", key=cls.key)
        assert failed.status == 404, failed.body
        cls.failed_id = failed.headers["x-request-id"]
        # An uncharged fact is written lazily.
        until(lambda: cls.usage()["totals"]["requests"] == 6, "the failed call is not in the books")

    @classmethod
    def api(cls, path):
        reply = cls.gateway.get(f"/v1/billing-accounts/{cls.account}{path}", key=cls.key)
        assert reply.status == 200, reply.body
        return reply.json()

    @classmethod
    def usage(cls):
        return cls.api("/usage")

    def send(self, path, browser=None):
        return (browser or self.browser).send("GET", f"/dashboard/{self.account}{path}")

    def page(self, path, status=200):
        page = Page(self.send(path))
        self.assertEqual(page.status, status, page.text[-600:])
        return page

    def follow(self, href):
        page = Page(self.browser.send("GET", href))
        self.assertEqual(page.status, 200, page.text[-600:])
        return page

    # ---- who may see it

    def test_one_account_is_led_to(self):
        reply = self.browser.send("GET", "/dashboard")
        self.assertEqual((reply.status, reply.headers["location"]),
                         (303, f"/dashboard/{self.account}"))

    def test_strangers_are_sent_to_sign_in_and_back(self):
        path = f"/dashboard/{self.account}/calls?outcome=charged"
        reply = Browser(self.gateway).send("GET", path)
        self.assertEqual((reply.status, reply.headers["location"]),
                         (303, "/login?return_to=" + urllib.parse.quote(path, safe="")))

    def test_members_of_other_accounts_see_nothing(self):
        other = self.gateway.run_json("account", "create", "--name", "Other")["id"]
        passkey = Passkey()
        self.addCleanup(passkey.close)
        stranger = self.member_of(other, "bob", passkey, "owner")
        status, answer = stranger.json("GET", f"/v1/billing-accounts/{self.account}/usage")
        for path in ("", "/calls", "/calls/" + self.ids[0], "/calls.csv", "/usage", "/usage.ndjson",
                     "/free-quotas", "/billing", "/status", "/purchases", "/auto-top-up"):
            reply = self.send(path, stranger)
            self.assertEqual(reply.status, status, path)
            self.assertIn(answer["error"]["code"].encode(), reply.body)
            for secret in (self.ids[0], self.key_id, "pricing"):
                self.assertNotIn(secret.encode(), reply.body.split(b"<main")[1], path)
        # Another account's call is not found below one's own account.
        reply = stranger.send("GET", f"/dashboard/{other}/calls/{self.ids[0]}")
        self.assertEqual(reply.status, 404)

    def test_a_session_that_may_only_enrol_sees_nothing(self):
        person = self.gateway.run_json("user", "create", "--name", "Cy", "--login", "cy",
                                       "--account", self.account, "--role", "owner")
        browser = Browser(self.gateway)
        browser.sign_in(person["link"])
        reply = self.send("/calls", browser)
        self.assertEqual((reply.status, reply.headers["location"]), (303, "/account"))

    # ---- figures

    def test_the_overview_says_what_the_api_says(self):
        page = self.page("")
        balance = int(self.api("/credit-balance")["creditBalance"])
        today = self.usage()["series"][-1]
        self.assertEqual(page.figures(), [balance, 95, int(today["creditsCharged"]),
                                          today["released"]])
        self.assertEqual(balance, 95)
        self.assertIn("left at the pace of 7 days", page.words)
        self.assertEqual(page.text.count("<svg"), 1)
        days = page.rows(0)
        self.assertEqual(sum(int(row["Calls"]) for row in days), 6)
        self.assertEqual(len(page.rows(1)), 6)
        # Each figure links to the facts that it sums up.
        figures = re.findall(r'<a href="([^"]+)"><b>', page.text)
        charged = self.follow(figures[2].replace("&amp;", "&"))
        self.assertEqual(sum(int(row["Credits"]) for row in charged.rows()), 5)
        released = self.follow(figures[3].replace("&amp;", "&"))
        self.assertEqual(len(released.rows()), 1)
        self.assertIn(self.failed_id, released.words)

    def test_calls_are_the_rows_of_the_api(self):
        rows = self.api("/billing?collection=usage")["items"]
        page = self.page("/calls")
        for shown, row in zip(page.rows(), rows, strict=True):
            self.assertIn(row["requestId"], shown["Call"])
            self.assertIn(row["clientRequestId"] or row["requestId"], shown["Call"])
            self.assertIn(row["apiKeyId"], shown["Key"])
            self.assertIn(row["outcome"], shown["Outcome"])
            self.assertEqual(shown["Credits"], row["creditsCharged"])
            self.assertEqual(shown["Status"], str(row["upstreamStatus"] or "-"))
        self.assertIn(HOSTILE, page.rows()[0]["Key"])

    def test_filters_choose_calls(self):
        times = [row["occurredAt"] for row in self.api("/billing?collection=usage")["items"]]
        first, last = times[-1], times[0]
        at_last = times.count(last)  # calls in the same millisecond
        for query, expected in (
                ({"api_key_id": self.other_key_id}, 1), ({"outcome": "charged"}, 5),
                ({"outcome": "released"}, 1), ({"outcome": "replayed"}, 0),
                ({"outcome": "charged", "api_key_id": self.key_id}, 4),
                ({"from": first, "to": last}, 6 - at_last), ({"from": last}, at_last),
                ({"from": "2020-01-01", "to": "2020-01-02T10:00"}, 0),
                ({"route_id": "route-none"}, 0),
                ({"api_key_id": "", "route_id": "", "outcome": "", "from": "", "to": ""}, 6)):
            page = self.page("/calls?" + urllib.parse.urlencode(query))
            shown = len(page.rows()) if page.tables else 0
            self.assertEqual(shown, expected, query)

    def test_bad_values_are_said_to_be_bad(self):
        for path, word in (("/calls?outcome=free", "outcome"), ("/calls?from=yesterday", "from"),
                           ("/calls?from=2026-02-02&to=2026-01-01", "from"),
                           ("/calls?after=x", "after"), ("/calls?nonsense=1", "nonsense"),
                           ("/usage?granularity=week", "granularity"),
                           ("/usage?granularity=hour&from=2020-01-01", "granularity"),
                           ("/billing?month=2026-13", "month"), ("/billing?month=2999-01", "month"),
                           ("/status?days=8", "days"), ("/calls.csv?outcome=free", "outcome")):
            page = self.page(path, 400)
            self.assertIn(word, page.words, path)
            self.assertTrue(page.text.startswith("<!doctype html>"), path)

    def test_pages_of_calls_lead_on(self):
        account = self.gateway.run_json("account", "create", "--name", "Many")["id"]
        key = self.gateway.run_json("key", "create", "--account", account, "--name", "k")["secret"]
        passkey = Passkey()
        self.addCleanup(passkey.close)
        browser = self.member_of(account, "dora", passkey)
        ids = [self.gateway.get(BASE + "/meta/pricing", key=key).headers["x-request-id"]
               for _ in range(53)]
        for query in ("", "?outcome=charged"):
            seen, href = [], f"/dashboard/{account}/calls{query}"
            while href:
                page = Page(browser.send("GET", href))
                seen += re.findall(r'/calls/([0-9a-f-]{36})"', page.text)
                href = next((link for link in page.links if link and "after=" in link
                             and "/calls?" in link), None)
            self.assertEqual(seen, ids[::-1])
        lines = browser.send("GET", f"/dashboard/{account}/calls.ndjson").body.splitlines()
        self.assertEqual([json.loads(line)["requestId"] for line in lines], ids[::-1])

    def test_files_hold_the_same_rows(self):
        rows = self.api("/billing?collection=usage")["items"]
        reply = self.send("/calls.csv")
        self.assertEqual(reply.headers["content-type"], "text/csv; charset=utf-8")
        self.assertIn("attachment", reply.headers["content-disposition"])
        read = list(csv.DictReader(io.StringIO(reply.body.decode(), newline="")))
        self.assertEqual([row["requestId"] for row in read], [row["requestId"] for row in rows])
        self.assertEqual([row["creditsCharged"] for row in read],
                         [row["creditsCharged"] for row in rows])
        lines = self.send("/calls.ndjson?outcome=released").body.splitlines()
        self.assertEqual([json.loads(line)["requestId"] for line in lines], [self.failed_id])
        read = list(csv.DictReader(io.StringIO(self.send("/usage.csv").body.decode(), newline="")))
        self.assertEqual(read, [{"start": one["start"], "requests": str(one["requests"]),
                                 "charged": str(one["charged"]), "released": str(one["released"]),
                                 "creditsCharged": one["creditsCharged"]}
                                for one in self.usage()["series"]])
        lines = self.send("/usage.ndjson?granularity=month").body.splitlines()
        self.assertEqual(sum(json.loads(line)["requests"] for line in lines), 6)

    def test_calls_are_found_by_either_id(self):
        for id in (self.ids[2], self.ids[2].upper()):
            reply = self.send("/calls?find=" + id)
            self.assertEqual((reply.status, reply.headers["location"]),
                             (303, f"/dashboard/{self.account}/calls/{self.ids[2]}"))
        page = self.page("/calls?find=mine-2")
        self.assertEqual(len(page.rows()), 1)
        self.assertIn(self.ids[2], page.rows()[0]["Call"])
        page = self.page("/calls?find=" + urllib.parse.quote(HOSTILE))
        self.assertEqual(page.tables, [])

    def test_the_inspector_shows_a_call_as_the_api_and_the_books_have_it(self):
        for id in (self.ids[0], self.failed_id):
            call = self.gateway.get("/v1/calls/" + id, key=self.key).json()
            page = self.page("/calls/" + id)
            for fact in (call["route_id"], call["generation"], call["outcome_reason"],
                         call["api_key_id"], call["lane"], str(call["upstream_status"]),
                         f"{call['credits_charged']} Credit" + "s" * (call["credits_charged"] != 1),
                         f"stream {call['ledger_entry']['stream']}, "
                         f"position {call['ledger_entry']['seq']}"):
                self.assertIn(fact, page.words)
            self.assertRegex(page.words, r"Hash of the fact\s*[0-9a-f]{64}")
        self.assertIn("Charged 1 Credit: the provider answered 200",
                      self.page("/calls/" + self.ids[0]).words)
        self.assertIn("Not charged: the provider answered 404",
                      self.page("/calls/" + self.failed_id).words)
        self.page("/calls/01a20df9-32e3-7000-960a-c239235f6329", 404)
        self.page("/calls/nonsense", 404)

    def test_usage_adds_up_to_the_ledger(self):
        verified = self.gateway.run_json("ledger", "verify")
        charged = next(int(one["charged"]) for one in verified["accounts"]
                       if one["accountId"] == self.account)
        for step in ("hour", "day", "month"):
            page = self.page("/usage?granularity=" + step)
            for table in range(3):
                rows = page.rows(table)
                self.assertEqual(sum(int(row["Credits"]) for row in rows), charged)
                self.assertEqual(sum(int(row["Calls"]) for row in rows), 6)
            self.assertIn(f"{charged} Credits", page.words)
        # Without a time: a week of hours, 30 days.
        for step, spans in (("hour", 7 * 24), ("day", 30)):
            lines = self.send("/usage.ndjson?granularity=" + step).body.splitlines()
            self.assertEqual(len(lines), spans, step)
        # A span links to its calls.
        span = next(link for link in page.links if link and "/calls?from=" in link)
        self.assertEqual(len(self.follow(span).rows()), 6)
        with_key = self.page("/usage?api_key_id=" + self.other_key_id)
        self.assertEqual([row["Calls"] for row in with_key.rows(2)], ["1"])

    def test_the_statement_ends_with_the_balance(self):
        page = self.page("/billing")
        lines = page.rows(0)
        balance = self.api("/credit-balance")["creditBalance"]
        self.assertEqual(lines[0]["What"], "Brought forward")
        self.assertEqual(lines[0]["Balance"], "0")
        self.assertEqual(lines[-1]["Balance"], balance)
        running = 0
        for line in lines[1:-1]:
            running += int(line["Change"])
            self.assertEqual(line["Balance"], str(running))
        self.assertEqual([line["Change"] for line in lines[1:-1]], ["+100", "-5"])
        self.assertTrue(lines[1]["What"].startswith("Credited: starter grant "), lines[1])
        (allocation,) = page.rows(1)
        self.assertEqual(allocation["Origin"], "starter grant")
        (row,) = self.api("/billing?collection=allocations")["items"]
        self.assertEqual((allocation["Id"], allocation["Remaining"], allocation["Status"]),
                         (row["id"], row["remaining"], row["status"]))
        charges = next(link for link in page.links if link and "outcome=charged" in link)
        self.assertEqual(len(self.follow(charges).rows()), 5)
        before = self.page("/billing?month=2020-01")
        self.assertEqual([line["Balance"] for line in before.rows(0)], ["0", "0"])

    def test_free_quotas_are_those_of_the_api(self):
        reply = self.gateway.get(BASE + "/meta/pricing:free", key=self.key)
        self.assertEqual(reply.status, 200, reply.body)
        (entry,) = self.api("/free-quotas")["providers"]
        rows = self.page("/free-quotas").rows()
        self.assertEqual([row["Left"] for row in rows[:2]],
                         [str(entry[name]["remaining"]) for name in ("primaryQuota", "quota")])
        self.assertEqual({row["Provider"] for row in rows}, {
            f"Governance data {entry['providerKey']}, by {entry['bucketScope']}"})
        self.assertEqual([row["Limit"] for row in rows[:2]], ["Each minute", "Each day"])
        self.assertEqual(self.page("/free-quotas").text.count("<svg"), len(rows))

    def test_status_for_me_stands_beside_what_is_published(self):
        rows = self.page("/status?days=1").rows()
        self.assertEqual(sorted((row["Yours"], row["Charged"], row["Failed"]) for row in rows),
                         [("0 %", "0", "1"), ("100 %", "5", "0")])
        self.assertEqual({row["Published"] for row in rows}, {"not published"})

    def test_what_is_not_sold_is_said_so(self):
        page = self.page("/purchases")
        self.assertIn("Credits are not sold on this host", page.words)
        self.assertIn(self.account, page.words)
        self.assertNotIn("<button class=\"second\"", page.text)
        page = self.page("/auto-top-up")
        self.assertIn("Nothing is sold on this host", page.words)
        self.assertNotIn("<form", page.text.partition("<main")[2])

    # ---- what every page has

    def test_pages_run_nothing_and_may_not_be_kept(self):
        for path in ("", "/calls", "/calls/" + self.ids[0], "/usage", "/free-quotas", "/billing",
                     "/status", "/purchases", "/auto-top-up"):
            reply = self.send(path)
            page = Page(reply)
            self.assertEqual(reply.headers["cache-control"], "private, no-store", path)
            self.assertIn("default-src 'none'", reply.headers["content-security-policy"])
            self.assertNotIn("<script>", page.text, path)
            self.assertNotIn("style", page.attributes, path)
            self.assertFalse([name for name in page.attributes if name.startswith("on")], path)
            self.assertEqual(page.tags.count("h1"), 1, path)
            here = re.findall(r'<a href="([^"]+)" aria-current="true">', page.text)
            self.assertEqual(len(here), 1, path)
            self.assertTrue(f"/dashboard/{self.account}{path}".startswith(here[0]), path)


class DashboardOnPostgres(OnPostgres, Dashboard):
    """The same on PostgreSQL."""


class Settling(test_unknown.Unknown):
    """A call whose charge is not known yet, on the pages of its account."""
    test_the_process_undoes_a_charge_that_commits_after_all = None
    test_the_next_process_undoes_it_when_this_one_is_killed = None

    def test_it_is_settling_until_it_is_known(self):
        self.gateway.stop()
        self.gateway.start(frozenset({"api", "mcp", "web", "operator"}))
        person = self.gateway.run_json("user", "create", "--name", "ann", "--login", "ann",
                                       "--account", self.account, "--role", "member")
        passkey = Passkey()
        self.addCleanup(passkey.close)
        browser = Browser(self.gateway)
        browser.sign_in(person["link"])
        browser.enrol(passkey)
        base = f"/dashboard/{self.account}"

        def page(path):
            page = Page(browser.send("GET", base + path))
            self.assertEqual(page.status, 200, page.text[-600:])
            return page

        call = self.call_held_upstream()
        with self.held_facts():
            message = self.until_told(call)
            # Until it is in the books it is in no list and no sum, but the search finds it.
            self.assertNotIn(message, page("").text)
            self.assertNotIn(message, page("/calls").text)
            self.assertEqual(page("/usage").rows(0)[-1]["Calls"], "0")
            found = browser.send("GET", f"{base}/calls?find={message}")
            self.assertEqual((found.status, found.headers["location"]),
                             (303, f"{base}/calls/{message}"))
            shown = page("/calls/" + message)
            self.assertIn("settling", shown.words)
            self.assertIn("Whether this call was charged is not known yet", shown.words)
            self.assertNotIn("How far it came", shown.words)
        until(lambda: "2 Credits given back (void)" in page("/calls/" + message).words,
                   "it kept settling")
        shown = page("/calls/" + message)
        self.assertNotIn("settling", shown.words)
        self.assertIn("Given back: 2 Credits", shown.words)
        for path in ("", "/calls"):
            self.assertIn(message, page(path).text)
            self.assertIn("2 given back", page(path).text)


if __name__ == "__main__":
    unittest.main()
