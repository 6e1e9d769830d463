"""A plugin in two slots that offers everything a plugin may offer, in a real gateway: an intake, a
document, work of its own, and a command."""

import http.client
import json
import re
import shutil
import unittest

from gateway import BUILD, Gateway, new_directory
from waiting import until

REGISTRY = """
provider: {key: test, name: Test provider}
upstreams: {box: {plugin: mailbox}}
prices: {p: {version: 1, credit_cost: 1}}
defaults: {price: p}
routes: [{path: /last}]
"""


class PluginTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        plugins = new_directory(cls)
        plugins.chmod(0o755)
        shutil.copy(BUILD / "tests/fixtures/plugins/good/mailbox.so", plugins)
        registry = new_directory(cls)
        (registry / "test.yaml").write_text(REGISTRY)
        cls.gateway = Gateway(plugins=plugins, registry=registry).start()
        cls.addClassCleanup(cls.gateway.close)

    def post(self, path, body, **options):
        return self.gateway.call("POST", "/v1/plugins/mailbox/" + path, body=body, **options)

    def test_a_note_reaches_the_store_and_is_served_by_both_slots(self):
        taken = self.post("box/notes?n=1", b"to the upstream", headers=[("X-Sign", "a"),
                                                                        ("X-Sign", "b")])
        self.assertEqual(taken.status, 201, taken.body)
        self.assertIn(b"POST notes?n=1\n", taken.body)
        self.assertIn(b"X-Sign: a\nX-Sign: b\n", taken.body)
        document = self.gateway.get("/.well-known/mailbox.json")
        self.assertEqual(document.body, b"to the upstream")
        taken = self.post("notes", b"to the lane")
        self.assertEqual(taken.status, 201, taken.body)
        call = self.gateway.get("/v1/gateway/test/last", headers=[("X-Mailbox", "open")])
        self.assertEqual((call.status, call.body), (200, b'"to the lane"'))
        self.assertEqual(call.headers["turnpike-lane"], "mailbox")
        shown = self.gateway.run("mailbox")
        self.assertEqual(shown.stdout, "to the lane\n")

    def test_only_what_is_declared_is_taken(self):
        for path in ("box/none", "other/notes", "box", "", "by", "by/a/b"):
            self.assertEqual(self.post(path, b"x").status, 404, path)
        refused = self.gateway.get("/v1/plugins/mailbox/notes")
        self.assertEqual((refused.status, refused.headers["allow"]), (405, "POST"))
        self.assertEqual(self.gateway.get("/v1/plugins/mailbox/by/name").status, 200)
        self.assertEqual(self.post("box/short", b"12345").status, 413)
        self.assertEqual(self.post("box/short", b"1234").status, 201)

    def test_a_fault_of_the_plugin_is_told_the_operator_and_not_the_sender(self):
        for body in (b"throw", b"status", b"cookie"):
            refused = self.post("notes", body)
            self.assertEqual((refused.status, refused.error_code()), (500, "gateway.plugin_fault"))
            self.assertNotIn(b"note too many", refused.body)
        self.assertIn("a note too many", self.gateway.log_text())
        away = self.post("notes", b"away")
        self.assertEqual((away.status, away.error_code()), (503, "plugin.unavailable"))

    def test_each_bound_object_does_its_own_work(self):
        connection = http.client.HTTPConnection(*self.gateway.addresses["operator"], timeout=60)
        self.addCleanup(connection.close)
        wanted = {"turnpike_plugin_upstream_runs_total", "turnpike_plugin_lane_runs_total"}

        def have_come():
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
            return all(re.search(name + r'{plugin="mailbox"} [1-9]', text) for name in wanted)

        until(have_come, f"not all of {wanted}", 30)

    def test_inspect_names_both_slots(self):
        told = json.loads(self.gateway.run(
            "plugin", "inspect", str(BUILD / "tests/fixtures/plugins/good/mailbox.so"),
            "--json").stdout)
        self.assertEqual(told["slots"], ["provider", "lane"])


if __name__ == "__main__":
    unittest.main()
