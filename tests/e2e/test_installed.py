"""What docs/operating.md prints on installation, corrections and back-up works as printed, with a
fresh prefix, and the manual page covers the existing commands."""

import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import unittest

from gateway import BUILD, ROOT, TURNPIKE, new_directory

PATH = "/v1/gateway/govdata/global/v1/daos"


def section(title):
    """The shell blocks below one heading of docs/operating.md."""
    text = (ROOT / "docs" / "operating.md").read_text()
    begin = text.index(f"# {title}\n")
    end = re.compile(r"^#+ |\Z", re.MULTILINE).search(text, begin + len(title) + 2).start()
    return re.findall(r"^```sh\n(.*?)^```", text[begin:end], re.MULTILINE | re.DOTALL)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = new_directory(cls)
        cls.prefix = cls.home / "prefix"
        cls.data = cls.prefix / "var" / "lib" / "turnpike"
        [install] = section("Install")
        install = install.replace("prefix=/opt/turnpike", f"prefix={cls.prefix}")
        install = install.replace("--install build/release", f"--install {BUILD}")
        cls.lines, served = install.rsplit("\n", 2)[0], install.splitlines()[-1]
        assert served == "turnpike serve", served

    def run_printed(self, text, **variables):
        """Runs a printed block in a shell with the exports of the first block."""
        exports = "\n".join(line for line in self.lines.splitlines()
                            if line.startswith(("prefix=", "export ")))
        result = subprocess.run(["bash", "-euc", exports + "\n" + text], cwd=self.home,
                                capture_output=True, text=True, timeout=300,
                                env={**os.environ, **variables})
        self.assertEqual(result.returncode, 0, text + result.stdout + result.stderr)
        return result.stdout

    def serve(self):
        """Runs `turnpike serve` as printed. Returns the addresses of the hosts."""
        environment = {**os.environ, "PATH": f"{self.prefix}/bin:{os.environ['PATH']}",
                       "TURNPIKE_CONFIG": str(self.config)}
        self.log = open(self.home / "log", "ab")
        self.gateway = subprocess.Popen(["turnpike", "serve"], stdout=subprocess.PIPE, text=True,
                                        stderr=self.log, cwd=self.home, env=environment)
        self.addCleanup(self.stop)
        addresses = {}
        while addresses.keys() != {"api", "mcp", "web", "operator"}:
            line = self.gateway.stdout.readline()
            self.assertTrue(line, (self.home / "log").read_text())
            event = json.loads(line)
            addresses[event["host"]] = event["address"]
        return addresses

    def stop(self):
        if self.gateway.returncode is None:
            self.gateway.send_signal(signal.SIGTERM)
            self.assertEqual(self.gateway.wait(timeout=60), 0)
            self.gateway.stdout.close()
            self.log.close()

    def take_free_ports(self):
        """Replaces the fixed ports of the printed configuration, which a test must not use."""
        self.config = self.prefix / "share" / "turnpike" / "config" / "turnpike.yaml"
        text = self.config.read_text()
        self.assertEqual(text.count("listen: 127.0.0.1:84"), 4)
        self.config.write_text(re.sub(r"listen: 127\.0\.0\.1:84\d\d", "listen: 127.0.0.1:0", text))

    def call(self, address, key):
        reply = self.run_printed(
            f"curl -si -H 'Authorization: Bearer {key}' 'http://{address}{PATH}'")
        self.assertIn("200 OK", reply.splitlines()[0])
        return re.search(r"(?im)^x-request-id: (\S+)", reply).group(1)

    def balance(self, address, account, key):
        reply = self.run_printed(f"curl -s -H 'Authorization: Bearer {key}' "
                                 f"'http://{address}/v1/billing-accounts/{account}/credit-balance'")
        return int(json.loads(reply)["creditBalance"])

    def test_the_readme_from_installation_to_restoration(self):
        self.run_printed(self.lines)
        self.assert_links_of_documents_hold()
        self.take_free_ports()
        account = json.loads(self.run_printed("turnpike account list --json"))["items"][0]["id"]
        key = json.loads(self.run_printed(
            f"turnpike key create --account {account} --name demo --json"))["secret"]
        addresses = self.serve()
        self.correct(addresses, account, key)
        self.back_up_and_restore(addresses, account, key)
        for path in (self.data, *self.data.rglob("*")):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)

    def assert_links_of_documents_hold(self):
        pages = list((self.prefix / "share" / "doc" / "turnpike").rglob("*.md"))
        self.assertGreater(len(pages), 20)
        for page in pages:
            for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
                if not re.match(r"[a-z]+:|/", link):
                    self.assertTrue((page.parent / link).exists(), f"{page}: {link}")

    def correct(self, addresses, account, key):
        command, request = section("Give Credits back")
        variables = {"ACCOUNT": account, "MESSAGE": self.call(addresses["api"], key)}
        for _ in range(2):  # the same command repeated is one correction
            self.run_printed(command, **variables)
        self.assertEqual(self.balance(addresses["api"], account, key), 1_000)
        variables["MESSAGE"] = self.call(addresses["api"], key)
        receipt = json.loads(self.run_printed(
            request.replace("127.0.0.1:8405", addresses["operator"]), **variables))
        self.assertEqual((receipt["creditsRestored"], receipt["kind"]), ("1", "refund"))
        self.assertEqual(self.balance(addresses["api"], account, key), 1_000)

    def back_up_and_restore(self, addresses, account, key):
        (self.home / "var").symlink_to(self.data)
        save, restore = section("Back up, restore, upgrade")
        self.run_printed(save)
        copy = self.home / "copy.db"
        self.assertEqual(stat.S_IMODE(copy.stat().st_mode), 0o600)
        with sqlite3.connect(copy) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        self.call(addresses["api"], key)
        self.assertEqual(self.balance(addresses["api"], account, key), 999)
        self.stop()
        lines = restore.splitlines()
        self.assertEqual(lines.pop(), "turnpike serve")
        self.run_printed("\n".join(lines))
        addresses = self.serve()
        self.assertEqual(self.balance(addresses["api"], account, key), 1_000)
        self.call(addresses["api"], key)
        self.stop()
        self.run_printed("turnpike ledger verify")


class Manual(unittest.TestCase):
    def setUp(self):
        self.page = (ROOT / "framework" / "app" / "turnpike.1").read_text().replace("\\-", "-")

    @staticmethod
    def help_of(*words):
        return subprocess.run([TURNPIKE, "help", *words], capture_output=True, text=True,
                              check=True).stdout

    @staticmethod
    def commands_in(text):
        listed = text.split("Subcommands:\n")
        return re.findall(r"^  ([a-z-]+)  ", listed[1], re.MULTILINE) if len(listed) == 2 else []

    def test_the_page_names_every_command_and_no_option_that_is_none(self):
        options = set()

        def read(*words):
            text = self.help_of(*words)
            options.update(re.findall(r"--[a-z-]+", text))
            for inner in self.commands_in(text):
                read(*words, inner)

        for command in self.commands_in(self.help_of()):
            self.assertRegex(self.page, rf"turnpike {command}\b")
            read(command)
        named = set(re.findall(r"(?<![a-z])--[a-z-]+", self.page))
        self.assertLessEqual(named - {"--version"}, options)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_the_page_is_well_formed(self):
        result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z",
                                 ROOT / "framework" / "app" / "turnpike.1"], capture_output=True,
                                text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
