"""A plugin that an outside author built against the installed package, called through the gateway;
and invalid plugin files, which are refused at start with a helpful message."""

import shutil
import subprocess
import unittest

from gateway import BUILD, TURNPIKE, Gateway, new_directory, new_registry

ACME = BUILD / "tests" / "package" / "plugins" / "acme.so"
BROKEN = BUILD / "tests" / "fixtures" / "plugins" / "broken"

REGISTRY = """
provider: {key: acme, name: Acme}
prices: {acme.standard: {version: 1, credit_cost: 1}}
upstreams: {acme: {plugin: acme, settings: {greeting: good day}}}
defaults: {price: acme.standard}
routes: [{path: /greeting}]
"""


class Package(unittest.TestCase):
    def gateway(self, *plugin_files):
        plugins = new_directory(self)
        plugins.chmod(0o755)
        for file in plugin_files:
            shutil.copy(file, plugins / file.name)
        gateway = Gateway(registry=new_registry(self, REGISTRY), plugins=plugins)
        self.addCleanup(gateway.close)
        return gateway

    def test_a_dropped_in_plugin_answers_a_paid_call(self):
        gateway = self.gateway(ACME)
        _, key = gateway.new_key()
        gateway.start()
        reply = gateway.get("/v1/gateway/acme/greeting", key=key)
        self.assertEqual(reply.status, 200, reply.body)
        self.assertIn("good day", reply.body.decode())
        self.assertEqual(reply.headers["turnpike-credits-charged"], "1")

    def test_a_plugin_that_is_dropped_in_is_taken_by_a_reload(self):
        """No restart is needed, and plugins that were loaded before keep working."""
        plugins, more = new_directory(self), new_directory(self)
        for directory in (plugins, more):
            directory.chmod(0o755)
        shutil.copy(BUILD / "plugins" / "http.so", plugins)
        registry = new_registry(self, REGISTRY.replace(
            "plugin: acme, settings: {greeting: good day}",
            "plugin: http, settings: {base_url: 'https://acme.example'}"))
        config = new_directory(self) / "turnpike.yaml"
        config.write_text(f"plugins: {{directory: [{plugins}, {more}]}}\n")
        gateway = Gateway(registry=registry, config=config)
        self.addCleanup(gateway.close)
        _, key = gateway.new_key()
        gateway.start()
        (registry / "test.yaml").write_text(REGISTRY.replace("plugin: acme", "revision: 2, "
                                                             "plugin: acme"))
        refused = gateway.run("reload", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('no provider plugin "acme" is loaded', refused.stderr)
        shutil.copy(ACME, more)
        self.assertEqual(gateway.run("check").returncode, 0)
        self.assertIn("serving generation", gateway.run("reload").stdout)
        reply = gateway.get("/v1/gateway/acme/greeting", key=key)
        self.assertEqual((reply.status, reply.headers["turnpike-credits-charged"]), (200, "1"))
        # A reload refuses a file that a start would refuse; the current generation goes on serving.
        shutil.copy(BROKEN / "wrong_abi.so", more)
        refused = gateway.run("reload", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("wrong_abi.so", refused.stderr)
        self.assertEqual(gateway.get("/v1/gateway/acme/greeting", key=key).status, 200)
        self.assertEqual(gateway.run_json("paths")["plugins"], [str(plugins), str(more)])

    def test_a_lane_of_an_outside_author_takes_what_its_command_issued(self):
        """The example of a lane, from its command to the last call of a voucher."""
        gateway = self.gateway(ACME, ACME.with_name("voucher.so"))
        issued = gateway.run_json("voucher", "issue", "--calls", "2")
        self.assertEqual(issued["calls"], 2)
        gateway.start()

        def call(code, path="/greeting"):
            return gateway.get("/v1/gateway/acme" + path, headers=[("X-Voucher", code)])

        self.assertEqual(call("nonsense").error_code(), "auth.credential_invalid")
        self.assertEqual(call("0" * 32).status, 401)
        left = []
        for _ in range(2):
            reply = call(issued["voucher"])
            self.assertEqual((reply.status, reply.headers["turnpike-lane"]), (200, "voucher"))
            left.append(reply.headers["voucher-calls-left"])
        self.assertEqual(left, ["1", "0"])
        spent = call(issued["voucher"])
        self.assertEqual((spent.status, spent.error_code()), (402, "billing.credits_exhausted"))
        shown = gateway.run_json("voucher", "show", issued["voucher"])
        self.assertEqual(shown, {"voucher": issued["voucher"], "calls": 0})
        self.assertEqual(gateway.run("voucher", "issue", "--calls", "0", check=False).returncode, 2)
        usage = gateway.run("voucher", "--help")
        self.assertIn("usage: turnpike voucher issue --calls N", usage.stdout)

    def test_inspect_tells_what_a_file_is_without_running_it(self):
        result = subprocess.run([TURNPIKE, "plugin", "inspect", ACME], capture_output=True,
                                text=True, check=True)
        for words in ("provider", "acme", "0.3.0", "cooperative", "gcc-"):
            self.assertIn(words, result.stdout)

    def test_a_broken_file_stops_the_start_and_is_named(self):
        for name in ("wrong_abi.so", "wrong_build.so", "no_symbol.so"):
            file = BROKEN / name
            if not file.exists():
                self.fail(f"{name} is not among {[path.name for path in BROKEN.iterdir()]}")
            gateway = self.gateway(ACME, file)
            result = gateway.run("serve", check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn(name, result.stderr)

    def test_a_registry_that_no_plugin_could_read_blames_the_plugins(self):
        """The keys of lanes are not reported as unknown if no plugin could claim them."""
        registry = new_registry(self, REGISTRY + "x402: {enabled: false}\n")
        plugins = new_directory(self)
        plugins.chmod(0o755)
        gateway = Gateway(registry=registry, plugins=plugins)
        self.addCleanup(gateway.close)
        unclaimed = gateway.run("registry", "hash", check=False)
        self.assertEqual(unclaimed.returncode, 1)
        self.assertIn("no lane plugin claims it", unclaimed.stderr)
        shutil.copy(BROKEN / "wrong_abi.so", plugins)
        for words in (("registry", "hash"), ("registry", "diff", registry, registry),
                      ("registry", "bump"), ("check",)):
            refused = gateway.run(*map(str, words), check=False)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn("wrong_abi.so", refused.stderr)
            self.assertNotIn("claims it", refused.stderr)


if __name__ == "__main__":
    unittest.main()
