"""The status of a real gateway: what callers read, what an outsider can verify, what operators
report, and what remains when nodes are killed. A round takes a second here instead of a minute."""

import contextlib
import json
import threading
import time
import unittest

from gateway import Gateway, Postgres, new_directory, new_registry
from people import Browser, Passkey
from test_console import Operator
from upstream import Upstream
from waiting import until

REGISTRY = """
provider: {{key: weather, name: Weather, base_path: /v1/gateway/weather}}
upstreams:
  main:
    plugin: http
    probe: {{interval_ms: 1000, per_day_max: 86400}}
    settings: {{base_url: "http://{address}", prefix: /v1/gateway/weather,
                allow_private_addresses: true, breaker: {{failures: 1000}}}}
prices: {{weather.standard: {{version: 1, credit_cost: 1}}}}
free_policies:
  weather.free: {{window: {{limit: 100000, seconds: 60}}, concurrency: 100}}
defaults: {{price: weather.standard, upstream: main, free: weather.free}}
routes:
  - path: /items/now
    monitoring:
      class: continuous
      interval_ms: 1000
      per_day_max: 86400
      sample: {{}}
      expect: {{json: {{"": object}}}}
  - path: "/status/{{status}}"
    monitoring:
      class: manual
      sample: {{path_parameters: {{status: "200"}}}}
  - {{path: "/bytes/{{size}}"}}
"""
SETTINGS = ["status.enabled=true", "status.round_ms=1000", "log.level=info"]
WAIT_SECONDS = 90
EVERYWHERE = frozenset({"api", "mcp", "web", "operator"})


class World(Upstream):
    """An upstream that can be taken down and brought back; it keeps its port."""

    def __init__(self):
        self.is_down = False
        super().__init__()

    def _serve_one(self, connection, stream):
        return not self.is_down and super()._serve_one(connection, stream)


class Status(unittest.TestCase):
    def start(self, *, settings=(), upstream=None, **options):
        self.upstream = upstream or World()
        if upstream is None:
            self.addCleanup(self.upstream.close)
        gateway = Gateway(
            registry=new_registry(self, REGISTRY.format(address=self.upstream.address)),
            settings=[*SETTINGS, *settings], **options)
        self.addCleanup(gateway.close)
        return gateway

    def wait_until(self, what, holds):
        until(holds, what, WAIT_SECONDS)

    @staticmethod
    def status(gateway, path="/gateway"):
        reply = gateway.get("/v1/status" + path)
        assert reply.status == 200, reply.body
        return reply.json()

    def wait_for_status(self, gateway, wanted, path="/gateway"):
        self.wait_until(f"{path} never was {wanted}",
                        lambda: self.status(gateway, path)["status"] == wanted)
        return self.status(gateway, path)

    def public_key(self, gateway):
        return gateway.run_json("ledger", "key")["publicKey"]

    def verify(self, gateway, what, *more, expected=0):
        result = gateway.run("status", "verify", str(what), "--public-key",
                             self.public_key(gateway), *more, check=False)
        self.assertEqual(result.returncode, expected, result.stdout + result.stderr)
        return result.stdout + result.stderr

    @staticmethod
    def url(gateway):
        return "http://%s:%d" % gateway.addresses["api"]

    def evidence(self, gateway):
        lines = b""
        from_round = 1
        while True:
            reply = gateway.get(f"/v1/status/evidence?from_round={from_round}&limit=60")
            self.assertEqual(reply.status, 200)
            rounds = [json.loads(line) for line in reply.body.splitlines()
                      if b'"type":"round"' in line]
            if not rounds:
                return lines
            lines += reply.body
            from_round = rounds[-1]["round"] + 1

    def assert_sums_hold(self, document):
        """Checks expected = passed + failed + unknown wherever a document has these sums."""
        if isinstance(document, dict):
            if "active_expected_targets" in document:
                self.assertEqual(document["active_expected_targets"],
                                 document["active_passed_targets"]
                                 + document["active_failed_targets"]
                                 + document["active_unknown_targets"])
            for value in document.values():
                self.assert_sums_hold(value)
        elif isinstance(document, list):
            for value in document:
                self.assert_sums_hold(value)


class OneNode(Status):
    def test_what_callers_read(self):
        gateway = self.start().start()
        before = self.status(gateway)
        self.assertIn(before["status"], ("unknown", "operational"))
        whole = self.wait_for_status(gateway, "operational")
        self.assertEqual(whole["evidence_status"], "current")
        self.assertEqual(whole["active_operations"], 3)
        self.assertEqual(whole["active_route_variants"], 6)
        offered = whole["operation_coverage"]["api_operations"]["offered"]
        self.assertEqual(offered, {"continuous": 1, "manual": 1, "not_applicable": 0,
                                   "unreviewed": 1})
        provider, = whole["providers"]
        self.assertEqual((provider["provider_key"], provider["reachability_status"]),
                         ("weather", "operational"))
        seen = {one["sentinel"] for one in whole["sentinel_observations"]}
        self.assertLessEqual({"healthz", "catalog", "key_refused", "mcp_ping", "database",
                              "web_login"}, seen)
        self.assert_sums_hold(whole)
        short = self.wait_for_status(gateway, "operational", "")
        components = {one["id"]: one["status"] for one in short["components"]}
        self.assertEqual(components["api"], "operational")
        self.assertEqual(components["lane:credits"], "operational")
        capability = gateway.get("/v1/capabilities").json()["capabilities"][0]["capability_id"]
        for path in ("/gateway/providers/weather", f"/gateway/operations/{capability}"):
            self.assert_sums_hold(self.status(gateway, path))
        authority = self.status(gateway, "/gateway/authority")
        self.assertEqual(authority["key"]["public_key_jwk"]["x"], self.public_key(gateway))
        self.assertIn("signature", authority["signed_round"])
        for path in ("/gateway/providers/none", "/gateway/operations/route-" + "0" * 32):
            reply = gateway.get("/v1/status" + path)
            self.assertEqual((reply.status, reply.error_code()), (404, "status.not_in_catalog"))
        for path in ("", "/gateway", "/rules", "/incidents", "/feed.atom",
                     "/badges/weather.svg", "/evidence"):
            reply = gateway.get("/v1/status" + path)
            self.assertEqual(reply.status, 200, path)
            self.assertEqual(reply.headers.get("cache-control"), "no-store", path)

    def test_operators_are_told_of_rounds_and_looks(self):
        gateway = self.start().start()
        self.wait_for_status(gateway, "operational")
        text = gateway.get("/metrics", host="operator").body.decode()
        self.assertIn("turnpike_status_leader 1\n", text)
        self.assertIn("turnpike_status_incidents_open 0\n", text)
        self.assertRegex(text, r"turnpike_status_round [1-9]")
        self.assertRegex(text, r"turnpike_status_round_end_timestamp_seconds 1\d{9}")
        self.assertRegex(text, 'turnpike_status_looks_total{kind="contract",result="pass"} [1-9]')

    def test_an_outsider_checks_every_figure(self):
        gateway = self.start().start()
        self.wait_for_status(gateway, "operational")
        self.wait_until("there are not enough rounds",
                        lambda: self.status(gateway)["evidence"]["round"] > 5)
        self.verify(gateway, self.url(gateway))
        file = new_directory(self) / "evidence.ndjson"
        evidence = self.evidence(gateway)
        file.write_bytes(evidence)
        self.verify(gateway, file)
        lines = evidence.splitlines(keepends=True)
        records = [at for at, line in enumerate(lines) if b'"seq":' in line]
        flipped = lines.copy()
        flipped[records[3]] = flipped[records[3]].replace(b'"pass"', b'"fail"')
        self.assertNotEqual(flipped, lines)
        for damaged in (flipped, lines[:records[3]] + lines[records[3] + 1:]):
            file.write_bytes(b"".join(damaged))
            self.assertIn("round", self.verify(gateway, file, expected=1))
        other = self.start(upstream=self.upstream)
        other.start()
        file.write_bytes(evidence)
        result = gateway.run("status", "verify", str(file), "--public-key",
                             self.public_key(other), check=False)
        self.assertEqual(result.returncode, 1, result.stdout)

    def test_an_outage_is_seen_and_told_and_ends(self):
        gateway = self.start().start()
        self.wait_for_status(gateway, "operational")
        self.upstream.is_down = True
        path = "/gateway/providers/weather"
        self.wait_for_status(gateway, "major_outage", path)
        self.assertIn(self.status(gateway)["status"], ("degraded", "major_outage"))
        # The component's state follows from the rules; its incident is published with the same
        # round.
        incident, = self.status(gateway)["incidents"]
        self.assertEqual((incident["scope"], incident["source"], incident["state"]),
                         ("provider:weather", "automatic", "open"))
        self.assertEqual(incident["impact"]["credits_charged_for_failures"], 0)
        self.assertIn(b"weather", gateway.get("/v1/status/feed.atom").body)
        self.upstream.is_down = False
        self.wait_for_status(gateway, "operational", path)
        listed = self.status(gateway, "/incidents")
        self.assertEqual(listed["incidents"][0]["incident_id"], incident["incident_id"])
        self.verify(gateway, self.url(gateway))

    def test_pages_tell_of_an_open_incident(self):
        gateway = self.start()
        account, key = gateway.new_key()
        person = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann",
                                  "--account", account, "--role", "member")
        gateway.start(EVERYWHERE)
        passkey = Passkey()
        self.addCleanup(passkey.close)
        browser = Browser(gateway)
        browser.sign_in(person["link"])
        browser.enrol(passkey)

        def page(path):
            reply = browser.send("GET", path)
            self.assertEqual(reply.status, 200, (path, reply.body))
            return reply.body.decode().replace("<wbr>", "")

        overview = f"/dashboard/{account}"
        self.assertEqual(gateway.get("/v1/gateway/weather/items/now", key=key).status, 200)
        self.wait_for_status(gateway, "operational", "/gateway/providers/weather")
        self.assertIn("None is open for the operations", page(overview))
        self.assertIn("No incident is open", page("/status"))
        self.upstream.is_down = True
        self.wait_until("no incident was told", lambda: self.status(gateway)["incidents"])
        incident, = self.status(gateway)["incidents"]
        self.wait_until("the overview does not tell of it",
                        lambda: incident["incident_id"] in page(overview))
        shown = page(overview)
        self.assertNotIn("None is open for the operations", shown)
        self.assertIn(f"<code>{incident['scope']}</code>, since", shown)
        self.wait_until("the account's status does not tell of it",
                        lambda: '<span class="state bad">major_outage</span>'
                        in page(overview + "/status"))
        for path in ("/status", "/status.md"):
            self.wait_until(path + " does not tell of it",
                            lambda path=path: incident["incident_id"] in page(path))
            self.assertIn(incident["scope"], page(path))
            self.assertNotIn("No incident is open", page(path))
        self.upstream.is_down = False
        self.wait_until("the overview still has it", lambda: "None is open for the operations"
                        in page(overview))

    def test_a_changed_contract_is_told_with_the_difference(self):
        gateway = self.start().start()
        self.wait_for_status(gateway, "operational")
        self.upstream._answer = lambda connection, target, request: (
            self.upstream._send(connection, b"200", b'["not an object"]') or True)
        self.wait_until("the difference was not told", lambda: any(
            "array" in (one["difference"] or "")
            for one in self.status(gateway, "/incidents")["incidents"]))

    def test_what_operators_say_moves_no_state(self):
        gateway = self.start().start()
        self.wait_for_status(gateway, "operational")
        gateway.run("status", "incident", "open", "--scope", "provider:weather", "--severity",
                    "major_outage", "--note", "The provider tells us of <b>trouble</b>.")
        gateway.run("status", "maintenance", "announce", "--scope", "gateway", "--from",
                    "2099-01-01T00:00:00.000Z", "--to", "2099-01-01T02:00:00.000Z", "--note",
                    "We move.")
        self.wait_until("the words are not shown", lambda: self.status(gateway)["incidents"]
                        and self.status(gateway, "")["maintenance"])
        shown = self.status(gateway)
        self.assertEqual(shown["incidents"][0]["source"], "operator")
        self.assertEqual(shown["status"], "operational")
        self.assertNotIn(b"<b>", gateway.get("/v1/status/feed.atom").body)

    def test_a_release_sweep(self):
        gateway = self.start()
        account = gateway.run_json("account", "create", "--name", "release")["id"]
        key = gateway.run_json("key", "create", "--account", account, "--name", "release")
        gateway.settings.append(f"status.release_sweep.principal=key:{key['id']}")
        _, stranger = gateway.new_key()
        gateway.start()
        operator = Operator(gateway, "console.read").sign_in()
        self.assertIn("There was none.", operator.page("/console/sweeps"))
        self.wait_for_status(gateway, "operational")
        generation = gateway.get("/v1/capabilities").json()["generation"]
        asked = {"release": "2026.11", "generation": {
            "id": generation["id"], "payload_hash": generation["payload_hash"]}}

        def post(path, key, body=None):
            headers = [("Content-Type", "application/json")] if body is not None else []
            return gateway.call("POST", "/v1/status/probes/release-sweeps" + path, key=key,
                                headers=headers,
                                body=b"" if body is None else json.dumps(body).encode())

        self.assertEqual(post("", None, asked).status, 401)
        self.assertEqual(post("", stranger, asked).status, 403)
        wrong = {**asked, "generation": {**asked["generation"], "id": "gen_0000000000000000"}}
        self.assertEqual(post("", key["secret"], wrong).status, 409)
        begun = post("", key["secret"], asked)
        self.assertEqual(begun.status, 200, begun.body)
        sweep = begun.json()
        self.assertEqual(post("", key["secret"], asked).json()["sweep_id"], sweep["sweep_id"])
        complete = f"/{sweep['sweep_id']}/complete"
        self.assertEqual(post(complete, stranger).status, 403)
        refused = post(complete, key["secret"])
        if refused.status == 503:
            self.assertTrue(refused.headers.get("retry-after"))
        self.wait_until("the sweep has open targets",
                        lambda: post(complete, key["secret"]).status == 200)
        ended = post(complete, key["secret"]).json()
        self.assertEqual(ended["state"], "complete", ended)
        self.assertEqual(ended["expected_targets"],
                         ended["passed"] + ended["failed"] + ended["unknown"])
        self.assertIn("/status/200", [one["target"] for one in self.upstream.requests])
        shown = operator.page("/console/sweeps")
        self.assertNotIn("There was none.", shown)
        for fact in (sweep["sweep_id"], "2026.11", f"key:{key['id']}", asked["generation"]["id"],
                     f"{ended['passed']} of {ended['expected_targets']} passed, 0 are open"):
            self.assertIn(fact, shown)
        self.assertEqual(shown.count("<td><code>"), ended["expected_targets"])

    def test_looks_cost_no_credits_and_no_lane(self):
        gateway = self.start()
        account, key = gateway.new_key()
        gateway.start()
        self.wait_for_status(gateway, "operational")
        self.assertEqual(gateway.balance(account, key), 1000)
        sample = [one for one in self.upstream.requests if one["target"] == "/items/now"]
        self.assertTrue(sample)

    def test_a_gateway_without_looks_is_unknown(self):
        gateway = self.start(settings=["status.enabled=false"]).start()
        self.assertEqual(self.status(gateway)["status"], "unknown")
        self.assertEqual(gateway.get("/v1/status/gateway/authority").status, 503)
        self.assertEqual([one for one in self.upstream.requests], [])

    def test_a_kill_loop_under_load_leaves_a_chain_that_verifies(self):
        gateway = self.start()
        _, key = gateway.new_key(credits=100_000)
        stop = threading.Event()

        def load():
            while not stop.is_set():
                with contextlib.suppress(OSError, KeyError):
                    gateway.get("/v1/gateway/weather/bytes/100", key=key, timeout=5)

        threads = [threading.Thread(target=load) for _ in range(4)]
        gateway.start()
        for thread in threads:
            thread.start()
        try:
            for at in range(8):
                self.wait_until("no round was closed", lambda: gateway.get(
                    "/v1/status/gateway/authority").status == 200)
                time.sleep(0.13 * at)  # at a different moment of the round each time
                gateway.kill()
                gateway.start()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.wait_for_status(gateway, "operational")
        self.verify(gateway, self.url(gateway))


class ThreeNodes(Status):
    def test_one_leads_and_another_takes_over(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        url = postgres.new_database()
        upstream = World()
        self.addCleanup(upstream.close)
        nodes = [self.start(upstream=upstream, postgres_url=url) for _ in range(3)]
        # The service has one key: all nodes sign under one name.
        nodes[0].run("ledger", "key")
        key = (nodes[0].directory / "signing_key").read_bytes()
        for node in nodes[1:]:
            path = node.directory / "signing_key"
            path.write_bytes(key)
            path.chmod(0o600)
        for node in nodes:
            node.start()
        for node in nodes:
            self.wait_for_status(node, "operational")
        leaders = {json.dumps(self.status(node, "/gateway/authority")["leader"]["node"])
                   for node in nodes}
        self.assertEqual(len(leaders), 1)
        leader = next(node for node in nodes if "status_leads" in node.log_text())
        followers = [node for node in nodes if node is not leader]
        leader.kill()
        round_at_death = self.status(followers[0])["evidence"]["round"]
        self.wait_until("nobody took over", lambda: all(
            self.status(node)["evidence"]["round"] > round_at_death + 3 for node in followers))
        for node in followers:
            self.wait_for_status(node, "operational")
        self.verify(followers[0], self.url(followers[1]))


if __name__ == "__main__":
    unittest.main()
