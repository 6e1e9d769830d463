"""The two database engines, as bases of tests that hold on both.

A test asks `postgres_url()` for the books of each gateway that it makes:

    class Kill(OnSqlite, unittest.TestCase): ...
    class KillOnPostgres(OnPostgres, Kill): ...
"""

from gateway import Postgres


class OnSqlite:
    looks = True  # Pages are the same on both engines: axe-core checks them on this one.

    @classmethod
    def postgres_url(cls):
        """None: the gateway keeps its books in its own directory."""
        return None


class OnPostgres:
    """One server for all tests of the class."""
    looks = False

    @classmethod
    def setUpClass(cls):
        cls.postgres = Postgres()
        cls.addClassCleanup(cls.postgres.close)
        super().setUpClass()

    @classmethod
    def postgres_url(cls):
        """The URL of a new database, which `url` keeps."""
        cls.url = cls.postgres.new_database()
        return cls.url
