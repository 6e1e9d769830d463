"""Examples in the documentation work as printed."""

import pathlib
import re
import tempfile
import unittest

from gateway import ROOT, Gateway


def blocks(name, language):
    """The fenced blocks of one language in a file of the source tree."""
    text = (ROOT / name).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


class Readme(unittest.TestCase):
    def check(self, program):
        """Runs `turnpike check` on a registry that consists of this file, which must pass
        unchanged. Returns the output."""
        directory = tempfile.TemporaryDirectory(prefix="turnpike-readme-")
        self.addCleanup(directory.cleanup)
        (pathlib.Path(directory.name) / "program.yaml").write_text(program)
        gateway = Gateway(registry=directory.name)
        self.addCleanup(gateway.close)
        result = gateway.run("check", check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_the_providers_in_yaml_are_whole_programs(self):
        for name in ("docs/providers.md", "registry/README.md",
                     "site/pages/developers/operators/registry.md"):
            programs = [block for block in blocks(name, "yaml")
                        if "upstreams:" in block and "routes:" in block]
            self.assertEqual(len(programs), 1, name)
            self.assertIn("ok: 1 route,", self.check(programs[0]))

    def test_the_sections_of_the_language_are_valid_beside_a_provider(self):
        fixed = [block for block in blocks("registry/README.md", "yaml")
                 if re.match(r"(query_policies|free_policies|x402):", block)]
        self.assertEqual(len(fixed), 3)
        for section in fixed:
            self.check(section)

    def test_the_plugin_that_is_shown_is_the_example_that_is_built(self):
        folder = ROOT / "examples" / "greeter"
        for name in ("docs/providers.md", "site/pages/developers/plugins/provider.md"):
            self.assertIn((folder / "greeter.cpp").read_text(), blocks(name, "cpp"))
            self.assertIn((folder / "CMakeLists.txt").read_text(), blocks(name, "cmake"))

    def test_configurations_that_are_shown_are_valid(self):
        gateway = Gateway()
        self.addCleanup(gateway.close)
        shown = [block for block in blocks("docs/payments.md", "yaml")
                 if "config/turnpike.yaml" in block]
        self.assertEqual(len(shown), 1)
        gateway.config = gateway.directory / "shown.yaml"
        gateway.config.write_text(shown[0].replace("https://<a node of that network>",
                                                   "https://node.example")
                                  .replace("https://<a facilitator of that network>",
                                           "https://facilitator.example"))
        result = gateway.run("check", check=False)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
