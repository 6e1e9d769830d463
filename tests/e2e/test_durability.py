"""/readyz reports what a deployment does without: durability that the operator relaxed, a
PostgreSQL that waits for no standby, and expiry while the clock is not trusted."""

import contextlib
import signal
import subprocess
import unittest

from gateway import Gateway, Postgres
from waiting import until

RELAXED = "Charges are answered before the disk has them: the last ones may be lost in a crash."
ALONE = ("PostgreSQL waits for no standby (synchronous_standby_names): after a failover the last"
         " charges may be missing.")
JUMPED = "The clock jumped: expiry of Credits is paused."
# Shadows the server's own function, so that a test can set the clock of one database.
SKEWED_CLOCK = """
    CREATE SCHEMA books;
    CREATE TABLE books.skew (minutes integer);
    INSERT INTO books.skew VALUES (0);
    CREATE FUNCTION books.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
      'SELECT pg_catalog.clock_timestamp() + (SELECT minutes FROM books.skew) * interval ''1 min''';
    ALTER DATABASE test1 SET search_path = books, pg_catalog;
"""


class Durability(unittest.TestCase):
    def start(self, *settings, url=None):
        # /readyz would list enabled passwords as well.
        self.gateway = Gateway(settings=["identity.password.enabled=false", *settings],
                               postgres_url=url)
        self.addCleanup(self.gateway.close)
        self.gateway.run("migrate")
        self.gateway.start()

    def relaxed(self):
        reply = self.gateway.get("/readyz")
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()["relaxed"]

    def wait_for(self, sentences):
        until(lambda: self.relaxed() == sentences, lambda: f"still {self.relaxed()}",
              seconds=30)

    def test_readyz_says_nothing_of_full_durability(self):
        self.start()
        self.assertEqual(self.relaxed(), [])

    def test_readyz_says_that_durability_is_relaxed(self):
        self.start("storage.durability=relaxed")
        self.assertEqual(self.relaxed(), [RELAXED])


class DurabilityOnPostgres(Durability):
    """Each test has a server of its own, because it changes the server."""

    def setUp(self):
        self.postgres = Postgres()
        self.addCleanup(self.postgres.close)
        self.url = self.postgres.new_database()

    def start(self, *settings, url=None):
        super().start(*settings, url=url or self.url)

    def sql(self, *statements):
        commands = [word for statement in statements for word in ("-c", statement)]
        subprocess.run([self.postgres.binaries / "psql", "-q", "-v", "ON_ERROR_STOP=1", self.url,
                        *commands], check=True, capture_output=True)

    @contextlib.contextmanager
    def standby(self):
        """A synchronous standby: it has every commit before the first server confirms it."""
        data, log = self.postgres.directory / "standby", self.postgres.directory / "standby.log"
        subprocess.run([*self.postgres.prefix, self.postgres.binaries / "pg_basebackup", "-h",
                        self.postgres.directory, "-U", "turnpike", "-D", data, "-R", "-N", "-c",
                        "fast"], check=True, capture_output=True, cwd=self.postgres.directory)
        with open(log, "wb") as output:
            server = subprocess.Popen(
                [*self.postgres.prefix, self.postgres.binaries / "postgres", "-D", data, "-k", data,
                 "-c", "listen_addresses="], stderr=output, cwd=self.postgres.directory)
        try:
            self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
            yield
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait()

    def test_readyz_says_nothing_of_full_durability(self):
        self.start()
        self.wait_for([ALONE])
        account, key = self.gateway.new_key()
        with self.standby():
            self.wait_for([])
            self.assertEqual(self.gateway.balance(account, key), 1000)
            self.gateway.run("grant", "--account", account, "--credits", "1")
            self.assertEqual(self.gateway.balance(account, key), 1001)

    def test_readyz_says_that_durability_is_relaxed(self):
        self.start("storage.durability=relaxed")
        self.wait_for([RELAXED, ALONE])

    def test_readyz_says_that_expiry_is_paused_while_the_clock_is_not_believed(self):
        self.sql(SKEWED_CLOCK)
        self.start()
        self.wait_for([ALONE])
        self.sql("UPDATE books.skew SET minutes = 60")
        self.wait_for([ALONE, JUMPED])
        self.sql("UPDATE books.skew SET minutes = 0")
        self.wait_for([ALONE])


if __name__ == "__main__":
    unittest.main()
