"""Only the owner may read what the gateway stores: databases with their -wal and -shm files, the
provider's store, keys, notes, exports, checkpoints and the socket, even under a loose umask."""

import os
import stat
import subprocess
import unittest

from gateway import BUILD, GOVDATA_IMPORT, ROOT, Gateway, new_directory

LOOSE = "umask 000; exec \"$@\""
TARGET = "/v1/gateway/govdata/global/v1/daos"


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


class LooseGateway(Gateway):
    """A gateway whose processes all start with the loosest umask."""

    def command(self, *words):
        return ["bash", "-c", LOOSE, "bash", *super().command(*words)]


class PrivateFiles(unittest.TestCase):
    def setUp(self):
        self.gateway = LooseGateway()
        self.addCleanup(self.gateway.close)
        self.data = self.gateway.directory / "below" / "data"
        self.gateway.settings.append(f"data_dir={self.data}")

    def assert_private(self, directory):
        self.assertEqual(mode(directory), 0o700, directory)
        names = set()
        for path in directory.rglob("*"):
            self.assertEqual(mode(path), 0o700 if path.is_dir() else 0o600, path)
            names.add(path.name)
        return names

    def test_everything_below_the_data_directory_is_the_owners_alone(self):
        _, key = self.gateway.new_key()
        subprocess.run(["bash", "-c", LOOSE, "bash", GOVDATA_IMPORT, "sample", "--database",
                        self.data / "govdata.db"], check=True, capture_output=True)
        self.assertIn("govdata.db", self.assert_private(self.data))
        self.gateway.run("ledger", "checkpoint", "--out", self.data / "checkpoint")
        self.gateway.start()
        self.assertEqual(self.gateway.get(TARGET, key=key).status, 200)
        account = self.gateway.run_json("account", "list")["items"][0]["id"]
        usage = f"/v1/billing-accounts/{account}/billing?collection=usage"
        self.assertEqual(self.gateway.get(usage, key=key).status, 200)
        for name, options in (("rows.csv", ["--format", "csv"]), ("rows.ndjson", [])):
            self.gateway.run("export", "--all", "--collection", "usage", "--out",
                             self.data / name, *options)
            self.assertGreater((self.data / name).stat().st_size, 100)
        names = self.assert_private(self.data)
        self.assertLessEqual({
            "turnpike.db", "turnpike.db-wal", "turnpike.db-shm", "turnpike.db.usage", "node",
            "signing_key", "unknown_calls", "control.sock", "checkpoint", "govdata.db"}, names)

    def test_a_result_is_private_though_its_file_was_not(self):
        self.gateway.run("migrate")
        out = self.gateway.directory / "rows"
        out.write_text("from before")
        out.chmod(0o644)
        self.gateway.run("export", "--all", "--collection", "usage", "--out", out)
        self.assertEqual(mode(out), 0o600)
        self.assertNotIn("from before", out.read_text())

    def test_check_and_a_start_tell_of_data_that_others_may_read(self):
        self.gateway.run("migrate")
        self.assertNotIn("other users", self.gateway.run("check").stderr)
        database = self.data / "turnpike.db"
        database.chmod(0o644)
        self.data.chmod(0o755)
        (self.data / "sub").mkdir(mode=0o700)
        notes = self.gateway.run("check").stderr
        self.assertIn(f"note: other users of this machine have rights to {self.data}, {database}",
                      notes)
        self.gateway.start()
        self.gateway.stop()
        self.assertIn("data_open_to_others", self.gateway.log_text())
        mend = notes.split("Take them away: ")[1].splitlines()[0]
        subprocess.run(mend, shell=True, check=True)
        self.assertNotIn("other users", self.gateway.run("check").stderr)
        self.assertEqual((mode(self.data), mode(database)), (0o750, 0o640))

    def test_a_database_elsewhere_is_looked_at_too(self):
        elsewhere = new_directory(self) / "books.db"
        self.gateway.settings.append(f"storage.sqlite.path={elsewhere}")
        self.gateway.run("migrate")
        self.assertEqual(mode(elsewhere), 0o600)
        elsewhere.chmod(0o604)
        notes = self.gateway.run("check").stderr
        self.assertIn(str(elsewhere), notes)
        subprocess.run(notes.split("Take them away: ")[1].splitlines()[0], shell=True, check=True)
        self.assertEqual(mode(elsewhere), 0o600)

    @unittest.skipUnless(BUILD == ROOT / "build" / "release", "./dev runs the release build")
    def test_the_demo_keeps_its_files_to_itself(self):
        script = 'umask 000; source ./dev; prepare_demo "$@"; umask'
        options = Gateway.command(self.gateway, "serve")[2:]
        done = subprocess.run(["bash", "-c", script, "dev", *options], check=True, cwd=ROOT,
                              capture_output=True, text=True, env=os.environ)
        self.assertEqual(done.stdout.split()[-1], "0077")
        names = self.assert_private(self.data)
        self.assertLessEqual({"demo.key", "turnpike.db", "govdata.db"}, names)


if __name__ == "__main__":
    unittest.main()
