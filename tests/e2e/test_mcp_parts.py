"""The reference programs for the MCP host, tried on a known server: the official one."""

import unittest

from mcp import LEGACY, MODERN, Client, ClientError, Inspection, OfficialServer, judge


class Judges(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = {sdk: OfficialServer(sdk=sdk) for sdk in (1, 2)}
        for server in cls.servers.values():
            cls.addClassCleanup(server.close)

    def test_the_suite_passes_what_the_official_server_does(self):
        for revision in (LEGACY, MODERN):
            verdict = judge(self.servers[2].url, "tools-list", revision)
            self.assertEqual(verdict.failed(), set(), verdict.report)
            self.assertGreaterEqual(verdict.count("SUCCESS"), 2)

    def test_the_suite_fails_what_the_server_does_not_do(self):
        verdict = judge(self.servers[2].url, "tools-call-image", MODERN)
        self.assertIn("tools-call-image", verdict.failed())

    def test_a_scenario_that_does_not_exist_is_no_verdict(self):
        with self.assertRaisesRegex(RuntimeError, "ran no scenario"):
            judge(self.servers[2].url, "no-such-scenario", MODERN)

    def test_each_client_speaks_the_era_it_is_asked_for(self):
        for sdk, era, version in ((1, "legacy", LEGACY), (2, "legacy", LEGACY),
                                  (2, "auto", MODERN), (2, "modern", MODERN)):
            with self.subTest(sdk=sdk, era=era):
                client = Client(sdk=sdk, era=era)
                try:
                    about = client.connect(self.servers[2].url)
                    self.assertEqual(about["version"], version)
                    [tool] = client.command("tools")
                    self.assertEqual(tool["name"], "item")
                    self.assertEqual(client.call("item")["structuredContent"]["status"], "executed")
                finally:
                    client.close()

    def test_a_client_tells_what_it_was_refused(self):
        client = Client(sdk=2, era="modern")
        try:
            with self.assertRaises(ClientError):
                client.connect(self.servers[1].url)  # SDK 1 does not know the modern era
        finally:
            client.close()

    def test_the_inspector_lists_tools_in_both_eras(self):
        for era in ("legacy", "modern"):
            with self.subTest(era=era):
                seen = Inspection(self.servers[2].url, "tools/list", era=era)
                self.assertEqual(seen.code, 0, seen.error)
                self.assertEqual([tool["name"] for tool in seen.result["tools"]], ["item"])

    def test_the_inspector_says_what_it_was_refused(self):
        seen = Inspection(self.servers[2].url, "resources/read", "--uri", "test://none",
                          era="modern")
        self.assertNotEqual(seen.code, 0)
        self.assertIn("-32601", seen.error)


if __name__ == "__main__":
    unittest.main()
