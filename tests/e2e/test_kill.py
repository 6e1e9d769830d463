"""kill -9 during 1,000 concurrent paid calls, then a restart: no reply was free.

The charged Credits must be at least the complete 200 replies, and at most those plus the calls that
the kill cut off: their charge may have been committed before the reply was sent.
"""

import asyncio
import resource
import subprocess
import unittest

from engines import OnPostgres, OnSqlite
from gateway import GOVDATA_IMPORT, Gateway

CONNECTIONS = 1000
REPLIES_BEFORE_KILL = 4000
GRANTED = 1_000_000
TARGET = "/v1/gateway/govdata/global/v1/daos"


class Callers:
    """Keep-alive connections, each of which makes one call after another until it breaks."""

    def __init__(self, address, key):
        self.address = address
        self.request = (f"GET {TARGET} HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {key}\r\n"
                        "\r\n").encode()
        self.complete = 0
        self.cut = 0
        self.other_statuses = {}
        self.enough = asyncio.Event()

    async def call_until_cut(self):
        try:
            reader, writer = await asyncio.open_connection(*self.address)
        except OSError:
            return  # the kill came before the connection
        try:
            while True:
                writer.write(self.request)
                await writer.drain()
                await self.read_reply(reader)
        except (OSError, asyncio.IncompleteReadError):
            self.cut += 1
        finally:
            writer.close()

    async def read_reply(self, reader):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        await reader.readexactly(int(fields["content-length"]))
        status = int(lines[0].split()[1])
        if status == 200:
            self.complete += 1
        else:
            self.other_statuses[status] = self.other_statuses.get(status, 0) + 1
        if self.complete >= REPLIES_BEFORE_KILL:
            self.enough.set()


async def call_and_kill(gateway, key):
    callers = Callers(gateway.addresses["api"], key)
    tasks = [asyncio.create_task(callers.call_until_cut()) for _ in range(CONNECTIONS)]
    await asyncio.wait_for(callers.enough.wait(), timeout=120)
    gateway.process.kill()
    await asyncio.gather(*tasks)
    return callers


class Kill(OnSqlite, unittest.TestCase):
    def test_charged_covers_every_complete_reply(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
        gateway = Gateway(postgres_url=self.postgres_url(),
                          settings=["accounts.starter_grant.enabled=false"])
        self.addCleanup(gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        gateway.directory / "govdata.db"], check=True, capture_output=True)
        account, key = gateway.new_key(credits=GRANTED)
        gateway.start()
        callers = asyncio.run(call_and_kill(gateway, key))
        gateway.kill()
        gateway.start()
        charged = GRANTED - gateway.balance(account, key)
        print(f"\n{type(self).__name__}: {callers.complete} complete 200 replies, "
              f"{charged} charged, {callers.cut} calls cut by the kill, "
              f"other statuses {callers.other_statuses}")
        self.assertGreaterEqual(callers.complete, REPLIES_BEFORE_KILL)
        self.assertGreaterEqual(charged, callers.complete)
        self.assertLessEqual(charged, callers.complete + callers.cut)
        self.assertEqual(gateway.get(TARGET, key=key).status, 200, "and it serves again")


class KillOnPostgres(OnPostgres, Kill):
    """The same on PostgreSQL."""


if __name__ == "__main__":
    unittest.main()
