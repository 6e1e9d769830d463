"""A plugin that an outside author built against the installed package, called through the gateway;
and plugin files that are none, refused at start with words that help."""

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


if __name__ == "__main__":
    unittest.main()
