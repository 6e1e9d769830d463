"""Runs the official conformance suite against the MCP host, at both of its revisions.

Bar A: the gateway as it ships. Bar B: the same host with the suite's own tools, resources and
prompts (tests/mcp/suite_server.cpp). A scenario passes if none of its checks fails or warns, except
those listed here with the reason. A listed check that passes fails the test, too.
"""

import http.client
import json
import unittest
import urllib.parse

import parts
from gateway import BUILD, Gateway
from mcp import LEGACY, MODERN, judge_all

# Scenarios that need only the protocol of a server (docs/protocols.md, "Conformance").
BAR_A = {
    LEGACY: ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list",
             "dns-rebinding-protection", "server-session-lifecycle"],
    MODERN: ["server-stateless", "tools-list", "resources-list", "prompts-list",
             "sep-2164-resource-not-found", "dns-rebinding-protection", "caching",
             "http-header-validation", "server-sse-multiple-streams",
             "input-required-result-unsupported-methods"],
}

# What only a server with streams can do.
WITH_STREAMS = {
    LEGACY: {"tools-call-with-logging", "tools-call-with-progress", "tools-call-sampling",
             "tools-call-elicitation", "elicitation-sep1034-defaults",
             "elicitation-sep1330-enums", "server-sse-polling"},
    MODERN: {"tools-call-with-progress"},
}

# All that a server without streams can do.
WITH_FIXTURES = [
    "completion-complete", "tools-call-simple-text", "tools-call-image", "tools-call-audio",
    "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
    "resources-read-text", "resources-read-binary", "resources-templates-read",
    "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
    "prompts-get-with-image"]
BAR_B = {
    LEGACY: BAR_A[LEGACY] + WITH_FIXTURES + [
        "logging-set-level", "resources-subscribe", "resources-unsubscribe",
        "server-sse-multiple-streams", "json-schema-2020-12"],
    MODERN: BAR_A[MODERN] + WITH_FIXTURES + [
        "json-schema-2020-12", "http-custom-header-server-validation",
        *("input-required-result-" + name for name in (
            "basic-elicitation", "basic-sampling", "basic-list-roots", "request-state",
            "multiple-input-requests", "multi-round", "missing-input-response",
            "non-tool-request", "result-type", "tampered-state", "capability-check",
            "ignore-extra-params", "validate-input"))],
}

# Checks of server-stateless that need the suite's own tools.
NO_FIXTURES = {("server-stateless", check) for check in (
    "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel")}

# At revision 2025-11-25, a warning to servers without sessions, which the scenario needs.
NO_SESSIONS = {("server-sse-multiple-streams", "server-sse-multiple-streams-session")}


class Conformance:
    """Runs the scenarios of self.bar against self.url. self.excused has the checks (scenario, id)
    that are expected to fail."""

    def run_bar(self, revision, scenario_count):
        scenarios = self.bar[revision]
        self.assertEqual(len(scenarios), scenario_count)
        verdicts = judge_all(self.url, revision)
        self.assertEqual(set(verdicts), set(BAR_B[revision]) | WITH_STREAMS[revision])
        for scenario in scenarios:
            verdict = verdicts[scenario]
            excused = {check for of, check in self.excused[revision] if of == scenario}
            print(f"{revision} {scenario:45} {verdict.count('SUCCESS'):3} passed "
                  f"{verdict.count('FAILURE', 'WARNING'):3} failed "
                  f"{verdict.count('SKIPPED', 'INFO'):3} not applicable", flush=True)
            with self.subTest(revision=revision, scenario=scenario):
                self.assertEqual(verdict.failed(), excused, verdict.report)
                # For a server without sessions, the scenario on their lifecycle only reports INFO.
                self.assertTrue(excused or verdict.count("SUCCESS", "INFO"), verdict.report)


class BarA(Conformance, unittest.TestCase):
    bar = BAR_A
    excused = {LEGACY: set(), MODERN: NO_FIXTURES}

    @classmethod
    def setUpClass(cls):
        gateway = Gateway()
        cls.addClassCleanup(gateway.close)
        gateway.start()
        cls.url = "http://%s:%d/" % gateway.addresses["mcp"]

    def test_the_gateway_conforms_to_2025_11_25(self):
        self.run_bar(LEGACY, 7)

    def test_the_gateway_conforms_to_2026_07_28(self):
        self.run_bar(MODERN, 10)


def start_suite_server(add_cleanup, *words):
    server = parts.Process([BUILD / "tests" / "mcp_suite_server", *words])
    add_cleanup(server.close)
    return server.ready["url"]


class BarB(Conformance, unittest.TestCase):
    bar = BAR_B
    excused = {LEGACY: NO_SESSIONS, MODERN: set()}

    @classmethod
    def setUpClass(cls):
        cls.url = start_suite_server(cls.addClassCleanup)

    def test_the_host_conforms_to_2025_11_25(self):
        self.run_bar(LEGACY, 26)

    def test_the_host_conforms_to_2026_07_28(self):
        self.run_bar(MODERN, 39)


class Rounds(unittest.TestCase):
    """Properties of the state between the rounds of a call that the suite does not check."""

    TOOL = "test_input_required_result_request_state"
    ANSWERS = {"confirm": {"action": "accept", "content": {"ok": True}}}

    def setUp(self):
        self.url = start_suite_server(self.addCleanup)

    def call(self, tool=TOOL, arguments=None, caller="Bearer one", **params):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments or {}, **params,
            "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN,
                      "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}}
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=60)
        try:
            connection.request("POST", "/", json.dumps(message), {
                "Content-Type": "application/json", "MCP-Protocol-Version": MODERN,
                "Mcp-Method": "tools/call", "Mcp-Name": tool, "Authorization": caller})
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def state(self, **call):
        result = self.call(**call)["result"]
        self.assertEqual(result["resultType"], "input_required")
        return result["requestState"]

    def assert_refused(self, state, **call):
        reply = self.call(inputResponses=self.ANSWERS, requestState=state, **call)
        self.assertEqual(reply.get("error", {}).get("code"), -32602, reply)

    def test_the_same_caller_with_the_same_arguments_is_answered(self):
        arguments = {"a": [1, {"b": None}]}
        reply = self.call(arguments=arguments, inputResponses=self.ANSWERS,
                          requestState=self.state(arguments=arguments))
        self.assertIn("state-ok", reply["result"]["content"][0]["text"])

    def test_a_state_is_of_one_caller_one_tool_and_one_set_of_arguments(self):
        state = self.state()
        self.assert_refused(state, caller="Bearer two")
        self.assert_refused(state, arguments={"a": 1})
        self.assert_refused(state, tool="test_input_required_result_tampered_state")

    def test_no_byte_of_a_state_may_be_another(self):
        state = self.state()
        for at in range(0, len(state), 7):
            other = "A" if state[at] != "A" else "B"
            self.assert_refused(state[:at] + other + state[at + 1:])
        self.assert_refused("")
        self.assert_refused(state * 100)

    def test_a_state_ends(self):
        self.url = start_suite_server(self.addCleanup, "0")
        self.assert_refused(self.state())


if __name__ == "__main__":
    unittest.main()
