"""Governance data from live sources: `mode: poll` reads a Snapshot hub, a forum and a Governor
contract on loopback, through outages, limits, lies, reorganised chains, and kills midway."""

import json
import os
import re
import shutil
import signal
import sqlite3
import time
import unittest

from fake_governance import GOVERNOR, Forum, Hub, Node
from gateway import ROOT, Gateway, new_directory
from waiting import until

BASE = "/v1/gateway/govdata/global/v1"
WAIT_SECONDS = 60
NOW = int(time.time())
SECRET = "key-of-the-hub-1234567890"


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


class Polling(unittest.TestCase):
    """A gateway whose registry polls the given sources; the tests also read its store."""

    def kill_at(self, fake, requests):
        """For each number in `requests`, starts the gateway and kills it while its request of that
        number is open."""
        for stop_at in requests:
            seen = []

            def at_request(path, query, body, stop_at=stop_at, seen=seen):
                seen.append(1)
                return len(seen) == stop_at
            arrived, release = fake.hold(at_request)
            self.gateway.start()
            self.assertTrue(arrived.wait(WAIT_SECONDS))
            self.gateway.kill()
            release.set()
        fake.gate = None

    def serve(self, *sources, settings="", start=True):
        directory = new_directory(self) / "registry"
        shutil.copytree(ROOT / "registry", directory)
        file = directory / "providers" / "govdata.yaml"
        lines = "\n".join("      - " + source for source in sources)
        text, count = re.subn("      mode: embedded.*\n", lambda _: (
            f"      mode: poll\n{settings}      sources:\n{lines}\n"), file.read_text())
        self.assertEqual(count, 1)
        file.write_text(text)
        self.gateway = Gateway(registry=directory, settings=["log.level=info"])
        self.addCleanup(self.gateway.close)
        if start:
            self.gateway.start()

    def start(self, fake):
        self.addCleanup(fake.close)
        return fake

    def rows(self, sql, *values):
        path = self.gateway.directory / "govdata.db"
        if not path.exists():
            return []
        with sqlite3.connect(path, timeout=10) as store:
            try:
                return store.execute(sql, values).fetchall()
            except sqlite3.OperationalError:  # its tables are not there yet
                return []

    def value(self, sql, *values):
        rows = self.rows(sql, *values)
        return rows[0][0] if rows else None

    def wait_for(self, what, condition):
        def late():
            return (f"{what}: not within {WAIT_SECONDS} s; the store says "
                    f"{self.rows('SELECT * FROM source')}\n{self.gateway.log_text()[-2000:]}")
        return until(condition, late, WAIT_SECONDS)

    def rounds(self):
        return self.value("SELECT coalesce(max(last_success_at), 0) FROM source") or 0

    def next_round(self):
        """Waits until a round that began after now has ended."""
        now = int(time.time() * 1000)
        return self.wait_for("a round", lambda: (self.value(
            "SELECT min(coalesce(last_success_at, 0)) FROM source") or 0) > now and self.began(now))

    def began(self, now):
        as_of = self.value("SELECT min(coalesce(as_of, 0)) FROM source")
        return as_of and (as_of > now or self.is_chain)

    is_chain = False

    def error(self):
        return self.value("SELECT last_error FROM source")

    def content(self):
        """Everything that the sources reported, without the times when it was seen."""
        return {
            "proposals": self.rows("SELECT external_id, title, outcome, execution, votes_count,"
                                   " voting_ends_at, scores_total FROM proposal ORDER BY 1"),
            "votes": self.rows("SELECT p.external_id, v.voter, v.choice_json, v.power FROM vote v"
                               " JOIN proposal p USING (proposal_pk) ORDER BY 1, 2"),
            "topics": self.rows("SELECT external_id, title, posts_count FROM forum_topic"
                                " ORDER BY 1"),
            "posts": self.rows("SELECT t.external_id, p.post_number, p.author FROM forum_post p"
                               " JOIN forum_topic t USING (topic_pk) ORDER BY 1, 2")}

    def fail_once(self, fake, kind, status, body, headers=None):
        """Answers the next request of the kind with this reply, and holds the one after it until it
        is released."""
        fake.script(status, body, headers, when=kind)
        return fake.hold(lambda *asked: kind(*asked) and not fake.scripted)

    def freshness(self):
        _, key = self.gateway.new_key(credits=10)
        return self.gateway.get(BASE + "/system/freshness", key=key).json()["data"]


class TestSnapshot(Polling):
    def hub(self, proposals=25, votes=60):
        hub = self.start(Hub(NOW))
        hub.spaces.append({"id": "tide.eth", "name": "Tide DAO", "about": "It rises.",
                           "website": None, "avatar": None})
        for number in range(1, proposals + 1):
            hub.add_proposal(number, NOW - 500_000 + number // 3)  # three share a second
        for number in range(votes):
            hub.add_vote(number, hub.proposals[number % proposals], NOW - 400_000 + number // 4)
        return hub

    def source(self, hub, **more):
        fields = {"type": "snapshot", "space": "tide.eth", "url": hub.url + "/graphql",
                  "allow_private_addresses": "true", "every_seconds": 1, "retry_seconds": 1,
                  "page_size": 10, "request_interval_ms": 10, **more}
        return "{" + ", ".join(f'{name}: {value}' for name, value in fields.items()) + "}"

    def test_pages_through_everything_and_sees_what_changes(self):
        hub = self.hub()
        self.serve(self.source(hub))
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM proposal"), 25)
        self.assertEqual(self.value("SELECT count(*) FROM vote"), 60)
        self.assertEqual(self.rows("SELECT dao_id, name, about FROM dao"),
                         [("tide-eth", "Tide DAO", "It rises.")])
        # A new proposal, an edit of an old one, a new vote, and the end of an open proposal.
        with hub.lock:
            hub.add_proposal(99, NOW - 5, end=NOW + 1000, scores=[0, 0, 0], scores_state="pending")
            hub.proposals[3].update(title="Edited", updated=NOW + 1)
            hub.add_vote(999, hub.proposals[0], NOW)
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM proposal"), 26)
        self.assertEqual(self.value("SELECT title FROM proposal WHERE external_id=?",
                                    hub.proposals[3]["id"]), "Edited")
        self.assertEqual(self.value("SELECT count(*) FROM vote"), 61)
        with hub.lock:
            hub.now = NOW + 2000
            hub.proposals[-1].update(scores=[9, 1, 0], scores_total=10, scores_state="final")
        self.next_round()
        self.assertEqual(self.value("SELECT outcome FROM proposal WHERE external_id=?",
                                    hub.proposals[-1]["id"]), "passed")
        for request in hub.requests:
            asked = json.loads(request["body"])
            self.assertLessEqual(asked["variables"].get("first", 1), 1000)
            self.assertEqual(request["headers"]["User-Agent"], "turnpike-govdata/1")
        # Polled data has events and signals, as imported data has.
        _, key = self.gateway.new_key(credits=10)
        signals = self.gateway.get(
            f"{BASE}/governance-signals?start_ms={(NOW - 60) * 1000}&end_ms={(NOW + 60) * 1000}"
            "&signal_types=proposal_created", key=key).json()["data"]
        self.assertEqual([item["title"] for item in signals["items"]], ["Proposal 99"])
        revisions = self.value("SELECT max(revision) FROM proposal")
        self.assertEqual(revisions, 2, "what is read again and is the same is no revision")

    def test_keeps_its_budget_and_its_key(self):
        hub = self.hub(proposals=8, votes=0)
        hub.api_key = SECRET
        self.serve(self.source(hub, request_interval_ms=150, page_size=3,
                               api_key="{secret: {env: HUB_KEY}}"), start=False)
        os.environ["HUB_KEY"] = SECRET
        self.addCleanup(os.environ.pop, "HUB_KEY")
        self.gateway.start()
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM proposal"), 8)
        times = [request["at"] for request in hub.requests]
        self.assertGreater(min(b - a for a, b in zip(times, times[1:])), 0.13)
        with hub.lock:
            hub.api_key = "another"
        self.wait_for("the refusal", lambda: self.error())
        self.assertEqual(self.error(), "the source refuses our credential or address (401)")
        self.assertNotIn(SECRET, self.gateway.log_text())
        self.assertNotIn(SECRET, json.dumps(self.freshness()))

    def test_a_limit_is_kept_and_told(self):
        hub = self.hub(proposals=4, votes=0)
        _, release = self.fail_once(hub, lambda *_: True, 429, b"", {"Retry-After": "2"})
        self.serve(self.source(hub))
        self.wait_for("the limit", lambda: self.error() == "the source limits our rate (429)")
        release.set()
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM proposal"), 4)
        self.assertIsNone(self.error())
        self.assertGreater(hub.requests[1]["at"] - hub.requests[0]["at"], 1.9)
        hub.script(429, headers={"X-Api-Key-Reset": str(int(time.time()) + 6)})
        before = len(hub.requests)
        self.wait_for("two more requests", lambda: len(hub.requests) > before + 1)
        later = [request["at"] for request in hub.requests[before:before + 2]]
        self.assertGreater(later[1] - later[0], 3)

    def test_outages_and_malformed_pages_are_told_and_leave_nothing_half_done(self):
        hub = self.hub(proposals=12, votes=0)
        other = json.dumps({"data": {"proposals": [
            {**hub.proposals[0], "space": {"id": "evil.eth", "name": "Evil"}}]}}).encode()
        unordered = json.dumps({"data": {"proposals": hub.proposals[5:3:-1]}}).encode()
        bad = json.dumps({"data": {"proposals": [
            {**proposal, "start": "soon"} for proposal in hub.proposals[:6]]}}).encode()
        def is_list(path, query, body):
            return b"created_gte" in body
        for status, body, text in (
                (500, b"", "the source answered with status 500"),
                (None, b"", "the source could not be reached"),
                (302, b"", "the source redirects; redirects are never followed"),
                (200, b"<html>", "the hub's answer is no JSON object"),
                (200, b'{"data": {"proposals": [{"id"', "the hub's answer is no JSON object"),
                (200, b'{"errors": [{"message": "secret"}]}',
                 "the hub's answer is an error or holds no list"),
                (200, b'{"data": {"proposals": {}}}',
                 "the hub's answer is an error or holds no list"),
                (200, other, "the hub sent a record of another space"),
                (200, unordered, "the hub's list is not in the order of time"),
                (200, bad, "6 of 6 records rejected, the first at proposals[0]; nothing of the page"
                           " was kept")):
            with self.subTest(text=text):
                fake = Hub(NOW)
                fake.spaces, fake.proposals = hub.spaces, hub.proposals
                self.start(fake)
                arrived, release = self.fail_once(fake, is_list, status, body)
                self.serve(self.source(fake))
                self.wait_for("the failure", lambda: self.error())
                self.assertEqual(self.error(), text)
                self.assertEqual(self.value("SELECT count(*) FROM proposal"), 0)
                self.assertTrue(arrived.wait(WAIT_SECONDS), "it asks again")
                source = self.freshness()["sources"][0]
                self.assertEqual(source["status"], "failed")
                self.assertEqual(source["lastError"], {"code": "poll_failed", "message": text})
                release.set()
                self.next_round()
                self.assertIsNone(self.error())
                self.assertEqual(self.value("SELECT count(*) FROM proposal"), 12)
                self.gateway.close()

    def test_a_kill_anywhere_loses_and_repeats_nothing(self):
        hub = self.hub(proposals=40, votes=90)
        self.serve(self.source(hub))
        self.next_round()
        expected = self.content()
        runs = self.value("SELECT sum(rows_new) FROM import_run")
        self.gateway.close()
        self.serve(self.source(hub), start=False)
        self.kill_at(hub, [2 * number + 1 for number in range(6)])
        self.gateway.start()
        self.next_round()
        self.assertEqual(self.content(), expected)
        self.assertEqual(self.value("SELECT sum(rows_new) FROM import_run"), runs)
        self.assertEqual(self.value("SELECT max(revision) FROM proposal"), 1)

    def test_a_stop_does_not_wait_for_a_source(self):
        hub = self.hub(proposals=2, votes=0)
        arrived, release = hub.hold()
        self.addCleanup(release.set)
        self.serve(self.source(hub, timeout_ms=60_000))
        self.assertTrue(arrived.wait(WAIT_SECONDS))
        began = time.monotonic()
        self.gateway.stop()
        self.assertLess(time.monotonic() - began, 20)

    def test_a_reload_begins_and_ends_polling(self):
        hub = self.hub(proposals=2, votes=0)
        self.serve(self.source(hub), start=False)
        file = self.gateway.registry / "providers" / "govdata.yaml"
        polling = file.read_text()
        file.write_text((ROOT / "registry" / "providers" / "govdata.yaml").read_text())
        self.gateway.start()
        file.write_text(polling)
        self.gateway.process.send_signal(signal.SIGHUP)
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM proposal"), 2)
        _, key = self.gateway.new_key(credits=5)
        self.wait_for("the store", lambda: self.gateway.get(BASE + "/daos", key=key).status == 200)
        file.write_text((ROOT / "registry" / "providers" / "govdata.yaml").read_text())
        self.gateway.process.send_signal(signal.SIGHUP)
        self.wait_for("the reload",
                      lambda: self.gateway.log_text().count("registry_installed") == 3)
        self.wait_for("silence", lambda: time.monotonic() - hub.requests[-1]["at"] > 3)

    def test_stale_data_is_annotated_or_blocked_as_the_route_says(self):
        hub = self.hub(proposals=2, votes=0)
        self.serve(self.source(hub, stale_after_seconds=2), start=False)
        file = self.gateway.registry / "providers" / "govdata.yaml"
        file.write_text(file.read_text().replace(
            "  - path: /daos\n", "  - path: /daos\n    upstream_settings: {stale: block}\n"))
        self.gateway.start()
        _, key = self.gateway.new_key(credits=100)
        self.next_round()
        self.assertEqual(self.gateway.get(BASE + "/daos", key=key).status, 200)
        self.assertEqual(self.freshness()["status"], "ready")
        hub.script(500, times=10_000)
        blocked = self.wait_for("the block", lambda: (
            reply := self.gateway.get(BASE + "/daos", key=key)).status == 503 and reply)
        self.assertEqual(blocked.error_code(), "gateway.evidence_stale")
        self.assertIn("snapshot tide.eth", blocked.json()["error"]["message"])
        reply = self.gateway.get(BASE + "/proposals/lookup?title=Proposal+1", key=key)
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json()["freshness"]["readiness"], "stale")
        told = self.freshness()
        self.assertEqual((told["status"], told["sources"][0]["status"]), ("stale", "failed"))
        capabilities = self.gateway.get("/v1/capabilities").json()["capabilities"]
        readiness = {entry["path"]: entry["readiness"] for entry in capabilities}
        self.assertEqual(readiness[BASE + "/daos"]["status"], "blocked")
        self.assertEqual(readiness[BASE + "/activity"]["status"], "ready")
        with hub.lock:
            hub.scripted.clear()
        self.wait_for("the end of it", lambda: self.gateway.get(BASE + "/daos",
                                                                key=key).status == 200)


class TestDiscourse(Polling):
    def forum(self, topics=70):
        forum = self.start(Forum())
        for number in range(1, topics + 1):
            forum.add_topic(number, iso(NOW - 86_400 * (topics - number)), posts=2)
        forum.add_topic(900, iso(NOW - 86_400 * 400), pinned=True)
        return forum

    def source(self, forum, **more):
        fields = {"type": "discourse", "dao": "tide", "url": forum.url,
                  "allow_private_addresses": "true", "every_seconds": 1, "retry_seconds": 1,
                  "requests_per_minute": 6000, **more}
        return "{" + ", ".join(f'{name}: {value}' for name, value in fields.items()) + "}"

    def test_reads_the_whole_list_then_what_changed(self):
        forum = self.forum()
        self.serve(self.source(forum))
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM forum_topic"), 71)
        # Threads of the last 30 days are those numbered 41 to 70; number 40 is just past the edge.
        threads = self.rows("SELECT DISTINCT t.external_id FROM forum_post JOIN forum_topic t"
                            " USING (topic_pk)")
        self.assertEqual(len(threads), 30)
        self.assertEqual(self.value("SELECT category_name FROM forum_topic WHERE external_id='70'"),
                         "Governance")
        with forum.lock:
            forum.requests.clear()
            for _ in range(45):
                forum.add_post(3, iso(NOW + 5))
        self.next_round()
        paths = {request["path"] for request in forum.requests}
        self.assertLessEqual(paths, {"/latest.json", "/t/3.json", "/t/3/posts.json"})
        pages = {request["query"]["page"][0] for request in forum.requests
                 if request["path"] == "/latest.json"}
        self.assertEqual(pages, {"0"}, "it stops at what is older than the last round")
        self.assertEqual(self.value("SELECT count(*) FROM forum_post JOIN forum_topic t"
                                    " USING (topic_pk) WHERE t.external_id='3'"), 47)
        forum.requests.clear()
        self.next_round()
        self.assertEqual({request["path"] for request in forum.requests}, {"/latest.json"})

    def test_threads_that_are_gone_are_left_out(self):
        forum = self.forum(topics=5)
        forum.gone.add(4)
        self.serve(self.source(forum))
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM forum_topic"), 6)
        self.assertEqual(self.value("SELECT count(*) FROM forum_post"), 8)
        self.assertIsNone(self.error())

    def test_limits_outages_and_malformed_pages(self):
        forum = self.forum(topics=5)
        other = json.dumps({"id": 1, "title": "x", "post_stream": {"posts": []}}).encode()
        def is_list(path, *_):
            return path == "/latest.json"
        def is_thread(path, *_):
            return path == "/t/5.json"
        for status, body, headers, kind, text in (
                (429, b"slow down", {"Retry-After": "1"}, is_list,
                 "the source limits our rate (429)"),
                (503, b"", {}, is_list, "the source answered with status 503"),
                (200, b"{", {}, is_list, "the forum's answer is no JSON object"),
                (200, b'{"topic_list": {}}', {}, is_list,
                 "the forum's answer holds no list of topics"),
                (200, other, {}, is_thread,
                 "the forum's answer is of another topic than was asked for"),
                (200, b'{"id": 5}', {}, is_thread, "the forum's answer holds no posts")):
            with self.subTest(text=text):
                fake = self.start(Forum())
                fake.topics, fake.posts = forum.topics, forum.posts
                _, release = self.fail_once(fake, kind, status, body, headers)
                self.serve(self.source(fake))
                self.wait_for("the failure", lambda: self.error())
                self.assertEqual(self.error(), text)
                release.set()
                self.next_round()
                self.assertIsNone(self.error())
                self.assertEqual(self.value("SELECT count(*) FROM forum_post"), 10)
                self.gateway.close()

    def test_a_kill_anywhere_loses_and_repeats_nothing(self):
        forum = self.forum()
        self.serve(self.source(forum))
        self.next_round()
        expected = self.content()
        self.gateway.close()
        self.serve(self.source(forum), start=False)
        self.kill_at(forum, [3 * number + 1 for number in range(5)])
        self.gateway.start()
        self.next_round()
        self.assertEqual(self.content(), expected)


class TestGovernor(Polling):
    HEAD = 5000
    TIME = NOW - 12 * 5000

    def began(self, now):
        return True

    def node(self):
        node = self.start(Node(self.HEAD, self.TIME))
        node.create(1, 1000, 1100, 2000, "First")
        for voter in range(1, 41):
            node.vote(1, voter, voter % 3, 10 * voter, 1100 + 5 * voter)
        node.finish("queued", 1, 2100)
        node.finish("executed", 1, 2200)
        node.create(2, 4900, 4950, 9000, "Second")
        node.vote(2, 7, 1, 500, 4960)
        node.vote(77, 7, 1, 500, 4961)  # for a proposal from before the first block
        return node

    def source(self, node, **more):
        fields = {"type": "governor", "dao": "tide", "url": node.url, "contract": f'"{GOVERNOR}"',
                  "allow_private_addresses": "true", "every_seconds": 1, "retry_seconds": 1,
                  "request_interval_ms": 10, "from_block": 500, "range_blocks": 1500,
                  "clock_mode": "blocknumber", **more}
        return "{" + ", ".join(f'{name}: {value}' for name, value in fields.items()) + "}"

    def proposal(self, number):
        return self.rows("SELECT title, outcome, execution, votes_count, voting_starts_at,"
                         " voting_ends_at, time_confidence FROM proposal WHERE external_id=?",
                         str(number))

    def time_of(self, block):
        return (self.TIME + 12 * block) * 1000

    def test_reads_up_to_the_confirmations_with_exact_times(self):
        node = self.node()
        node.vote(2, 8, 1, 500, 4995)  # in the newest twelve blocks, which are not confirmed
        self.serve(self.source(node))
        self.next_round()
        self.assertEqual(self.proposal(1), [("First", "passed", "executed", 40, self.time_of(1100),
                                             self.time_of(2000), "exact")])
        self.assertEqual(self.proposal(2), [("Second", "unknown", "not_started", 1,
                                             self.time_of(4950), self.time_of(9000), "estimated")])
        self.assertIsNone(self.error())
        self.assertEqual(self.value("SELECT as_of FROM source"), self.time_of(4988))
        methods = [call["method"] for request in node.requests for call in
                   (lambda body: body if isinstance(body, list) else [body])(
                       json.loads(request["body"]))]
        self.assertIn("eth_chainId", methods)
        # Voting ends, later than estimated.
        with node.lock:
            node.head = 9100
        self.next_round()
        self.wait_for("the block", lambda: self.value("SELECT as_of FROM source") ==
                      self.time_of(9088))
        self.assertEqual(self.proposal(2), [("Second", "unknown", "not_started", 2,
                                             self.time_of(4950), self.time_of(9000), "exact")])
        # An entirely different chain: nothing that was read is removed.
        node.reorganise(1)
        self.wait_for("the refusal", lambda: self.error() ==
                      "the node's chain shares no block with what was read")
        self.assertEqual(self.value("SELECT count(*) FROM vote"), 42)

    def votes_with_quorum(self, node, time_of=lambda block: block):
        """Five votes that end at block 2000. `time_of`: the contract's clock at a block."""
        ballots = {11: [(1, 150), (0, 20)], 12: [(1, 40), (0, 10)], 13: [(1, 60), (0, 80), (2, 50)],
                   14: [(0, 20), (1, 150)], 15: []}
        for proposal, votes in ballots.items():
            node.create(proposal, 1000, time_of(1100), time_of(2000), f"Vote {proposal}")
            for at, (support, weight) in enumerate(votes):
                node.vote(proposal, 50 + at, support, weight, 1150 + 300 * at)

    def outcomes(self):
        return dict(self.rows("SELECT external_id, outcome || ' ' || execution || ' ' ||"
                              " coalesce(quorum, 'none') FROM proposal"))

    WITH_QUORUM = {"11": "passed not_started 100", "12": "no_quorum not_started 100",
                   "13": "failed not_started 100", "14": "passed not_started 100",
                   "15": "no_quorum not_started 100"}

    def test_outcomes_follow_from_the_contracts_quorum(self):
        node = self.start(Node(1900, self.TIME))
        self.votes_with_quorum(node)
        node.tell_modes("mode=blocknumber&from=default", lambda at: 100 if at == 1100 else 7)
        self.serve(self.source(node, range_blocks=100, clock_mode='""'))
        self.next_round()
        # With only votes against so far, or none, nothing is lost before the end of voting,
        # whatever the local clock says.
        self.assertEqual(self.outcomes(),
                         dict.fromkeys(self.WITH_QUORUM, "unknown not_started 100"))
        with node.lock:
            node.head = 3000
        self.wait_for("the end", lambda: self.outcomes() == self.WITH_QUORUM)
        self.assertEqual(self.value("SELECT DISTINCT clock_mode FROM source"), "blocknumber")
        # The last blocks of the voting are replaced, so the outcomes are open again until the new
        # blocks are read.
        node.reorganise(1990)
        node.vote(12, 90, 2, 70, 1995)
        self.wait_for("the new end", lambda: self.outcomes() == {
            **self.WITH_QUORUM, "12": "passed not_started 100"})

    def test_outcomes_of_a_contract_that_counts_seconds(self):
        node = self.start(Node(3000, self.TIME))
        node.takes_batches = False
        self.votes_with_quorum(node, lambda block: self.TIME + 12 * block)
        node.tell_modes("mode=timestamp", lambda at: 100 if at == self.TIME + 12 * 1100 else 7)
        self.serve(self.source(node, range_blocks=100, clock_mode='""'))
        self.next_round()
        self.assertEqual(self.outcomes(), self.WITH_QUORUM)
        self.assertEqual(self.value("SELECT DISTINCT clock_mode FROM source"), "timestamp")

    def test_a_contract_that_counts_otherwise_leaves_outcomes_open(self):
        node = self.start(Node(3000, self.TIME))
        self.votes_with_quorum(node)
        node.tell_modes("mode=blocknumber&from=eip155:10", lambda at: 100)
        node.functions["dd4e2ba5"] = lambda _: "0x" + "00" * 31 + "ff"  # not a string
        self.serve(self.source(node))
        self.next_round()
        self.assertEqual(self.outcomes(), {
            "11": "unknown not_started none", "12": "unknown not_started none",
            "13": "failed not_started none", "14": "unknown not_started none",
            "15": "failed not_started none"})

    def test_ranges_shrink_to_what_the_node_really_takes(self):
        node = self.node()
        node.range_max, node.takes_batches = 130, False
        self.serve(self.source(node))
        self.next_round()
        self.assertEqual(self.proposal(1)[0][:4], ("First", "passed", "executed", 40))
        self.assertEqual(self.value("SELECT count(*) FROM vote"), 41)
        self.assertIsNone(self.error())

    def test_a_reorganisation_is_read_anew(self):
        node = self.node()
        self.serve(self.source(node, range_blocks=100))
        self.next_round()
        self.assertEqual(self.value("SELECT count(*) FROM vote"), 41)
        first_seen = self.value("SELECT min(first_seen_at) FROM proposal")
        # From block 4940 on the chain differs: a vote against replaces the vote for.
        node.reorganise(4940)
        node.vote(2, 9, 0, 800, 4945)
        self.wait_for("the vote of the new chain", lambda: self.rows(
            "SELECT voter, choice_id, power FROM vote v JOIN proposal p USING (proposal_pk)"
            " WHERE p.external_id='2'") == [("0x%040x" % 9, "0", "800")])
        self.assertEqual(self.value("SELECT votes_count FROM proposal WHERE external_id='2'"), 1)
        # Deeper: the second proposal was never made, and the first was canceled instead of
        # executed.
        node.reorganise(2150)
        node.finish("canceled", 1, 2160)
        self.wait_for("the end of the second", lambda: self.proposal(2) == [])
        self.wait_for("the cancellation", lambda: self.proposal(1)[0][1:3] ==
                      ("canceled", "not_started"))
        self.assertEqual(self.value("SELECT min(first_seen_at) FROM proposal"), first_seen,
                         "what is older than the fork stays")
        self.next_round()
        self.assertEqual(self.proposal(1)[0][3], 40)
        self.assertEqual(self.value("SELECT count(*) FROM vote"), 40)
        self.assertEqual(self.rows("SELECT executed_at FROM proposal"), [(None,)])
        self.assertEqual(self.value("SELECT vote_count FROM dao_participation"), 40)

    def test_nodes_that_fail_lie_or_lag_are_not_believed(self):
        def of_logs(path, query, body):
            return b"eth_getLogs" in body
        def answer(result):
            return json.dumps({"jsonrpc": "2.0", "id": 5, "result": result}).encode()
        log = {"address": GOVERNOR, "topics": [], "data": "0x", "blockNumber": "0x64",
               "blockHash": "0x" + "0" * 64, "logIndex": "0x0"}
        for body, text in (
                (b"null", "the node's answer is no JSON object"),
                (answer("none"), "the node's answer is no list of logs"),
                (answer([{**log, "blockNumber": "0x1"}]),
                 "the node sent a log that was not asked for"),
                (answer([{**log, "address": "0x" + "11" * 20, "blockNumber": "0x3e8"}]),
                 "the node sent a log that was not asked for"),
                (answer([{**log, "blockNumber": "0x3e8"}]),
                 "the chain changed while it was read")):
            with self.subTest(text=text):
                node = self.node()
                _, release = self.fail_once(node, of_logs, 200, body)
                self.serve(self.source(node))
                self.wait_for("the failure", lambda: self.error())
                self.assertEqual(self.error(), text)
                release.set()
                self.next_round()
                self.assertEqual(self.value("SELECT count(*) FROM vote"), 41)
                self.assertIsNone(self.error())
                self.gateway.close()
        node = self.node()
        node.chain_id = 5
        self.serve(self.source(node))
        self.wait_for("the chain", lambda: self.error() == "the node serves chain 5, not 1")
        self.assertEqual(self.value("SELECT count(*) FROM proposal"), 0)
        node.chain_id = 1
        self.next_round()
        with node.lock:
            node.head = 3000
        self.wait_for("the lag", lambda: self.error() ==
                      "the node is behind the blocks that were read already")
        self.assertEqual(self.value("SELECT count(*) FROM vote"), 41)

    def test_a_kill_anywhere_loses_and_repeats_nothing(self):
        node = self.node()
        self.serve(self.source(node, range_blocks=200))
        self.next_round()
        expected = self.content()
        self.gateway.close()
        self.serve(self.source(node, range_blocks=200), start=False)
        self.kill_at(node, [4 * number + 2 for number in range(6)])
        self.gateway.start()
        self.next_round()
        self.assertEqual(self.content(), expected)

    def test_the_address_of_a_node_may_be_a_secret(self):
        node = self.node()
        os.environ["NODE_URL"] = node.url + "/v3/" + SECRET
        self.addCleanup(os.environ.pop, "NODE_URL")
        node.script(500, times=2)
        self.serve(self.source(node, url="{secret: {env: NODE_URL}}"))
        self.next_round()
        self.assertEqual(node.requests[0]["path"], "/v3/" + SECRET)
        self.assertNotIn(SECRET, self.gateway.log_text())
        self.assertNotIn(SECRET, json.dumps(self.freshness()))
        self.assertNotIn(SECRET, repr(self.rows("SELECT * FROM source")))


class TestNothingByDefault(Polling):
    def test_the_shipped_registry_polls_nothing(self):
        self.gateway = Gateway(settings=["log.level=info"])
        self.addCleanup(self.gateway.close)
        self.gateway.start()
        _, key = self.gateway.new_key()
        self.assertEqual(self.gateway.get(BASE + "/daos", key=key).status, 503)
        self.assertFalse((self.gateway.directory / "govdata.db").exists())
        metrics = self.gateway.get("/metrics", host="operator").body.decode()
        self.assertNotIn("poll_requests", metrics)


if __name__ == "__main__":
    unittest.main()
