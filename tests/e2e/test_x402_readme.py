"""Follows docs/payments.md, "Be paid per call", as printed: the shipped prices, the printed
registry and configuration, and a payer with the official client. Only the <angle brackets> are
filled in. The chain is a local one with the id of Base and its USDC; the facilitator is local, too.
"""

import json
import re
import secrets
import shutil
import subprocess
import unittest

from gateway import GOVDATA_IMPORT, ROOT, Gateway, new_directory
from waiting import until
from x402 import Chain, Facilitator, Payer

PATH = "/v1/gateway/govdata/global/v1/daos"


def section(name):
    text = (ROOT / "docs" / "payments.md").read_text()
    return re.search(rf"^## {name}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]


class BePaidPerCall(unittest.TestCase):
    def setUp(self):
        self.chain = Chain(chain_id=8453)
        self.addCleanup(self.chain.close)
        self.facilitator = Facilitator(self.chain)
        self.addCleanup(self.facilitator.close)
        self.payer = Payer()
        self.addCleanup(self.payer.close)
        self.chain.fund(self.payer.address, 1_000_000)
        self.pay_to = "0x" + secrets.token_hex(20)
        self.directory = new_directory(self)
        blocks = dict(re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", section("Be paid per call"),
                                 re.MULTILINE | re.DOTALL))
        self.assertEqual(set(blocks), {"registry/prices/x402.yaml", "config/turnpike.yaml"})
        self.write_registry(blocks["registry/prices/x402.yaml"])
        self.write_configuration(blocks["config/turnpike.yaml"])

    def filled_in(self, text, **values):
        for name, value in values.items():
            placeholder = "<" + name.replace("_", " ") + ">"
            self.assertIn(placeholder, text)
            text = text.replace(placeholder, value)
        self.assertNotIn("<", text, "nothing else has to be filled in")
        return text

    def write_registry(self, printed):
        shutil.copytree(ROOT / "registry", self.directory / "registry")
        (self.directory / "registry" / "prices" / "x402.yaml").write_text(
            self.filled_in(printed, your_address=self.pay_to[2:]))

    def write_configuration(self, printed):
        """Appends the printed text to the shipped configuration. Both services are on this machine
        here, which has to be allowed."""
        printed = self.filled_in(printed, a_facilitator_of_that_network="facilitator",
                                 a_node_of_that_network="node")
        for name, url in (("facilitator", self.facilitator.url), ("node", self.chain.url)):
            self.assertIn(f'"https://{name}"', printed)
            printed = printed.replace(f'"https://{name}"',
                                      f'"{url}", allow_private_addresses: true')
        (self.directory / "turnpike.yaml").write_text(
            (ROOT / "config" / "turnpike.yaml").read_text() + printed)

    def test_it_works_as_printed(self):
        gateway = Gateway(registry=self.directory / "registry",
                          config=self.directory / "turnpike.yaml",
                          settings=["hosts.api.reference_directory=" + str(
                              ROOT / "framework/hosts/api/reference/node_modules")])
        self.addCleanup(gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database", gateway.directory / "govdata.db"],
                       check=True, capture_output=True)
        checked = gateway.run("check")
        self.assertIn("ok: ", checked.stdout)
        self.assertNotIn("x402", checked.stderr)
        gateway.start()
        until(lambda: gateway.get(PATH).status == 402, "nothing is offered")
        reply = self.payer.fetch("http://%s:%d%s" % (*gateway.addresses["api"], PATH))
        self.assertEqual(reply["status"], 200, reply)
        self.assertTrue(reply["settled"]["success"])
        self.assertEqual(self.chain.balance(self.pay_to), 1000)
        [paid] = [json.loads(line) for line in
                  gateway.run("x402", "payments").stdout.splitlines()]
        self.assertEqual((paid["entry"], paid["price_version"]), ("settled", 4))


if __name__ == "__main__":
    unittest.main()
