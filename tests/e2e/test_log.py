"""The log of a serving gateway: lines are written in batches, and only `kill -9` loses any."""

import http.client
import json
import os
import re
import resource
import signal
import socket
import threading
import unittest

from gateway import START_TIMEOUT_SECONDS, Gateway

REQUESTS = 300


def answered(gateway, count, path="/healthz"):
    """Makes `count` requests on one connection. A request's line is written before the next request
    on its connection is read, so all lines but the last are written when this returns."""
    connection = http.client.HTTPConnection(*gateway.addresses["api"], timeout=60)
    for number in range(count):
        connection.request("GET", path, headers={"X-Request-Id": f"number-{number}"})
        response = connection.getresponse()
        response.read()
        assert response.status == 200
    return connection


def access_lines(text):
    return [line for line in map(json.loads, text.splitlines()) if line["event"] == "access"]


class Log(unittest.TestCase):
    def start(self, *settings):
        gateway = Gateway(settings=["log.level=info", *settings])
        self.addCleanup(gateway.close)
        return gateway

    def test_nothing_is_lost_by_a_stop(self):
        gateway = self.start().start()
        with answered(gateway, REQUESTS + 1).sock:
            gateway.stop()
        lines = access_lines(gateway.log_text())
        self.assertEqual([line["client_request_id"] for line in lines],
                         [f"number-{number}" for number in range(REQUESTS + 1)])

    def test_nothing_is_lost_by_a_signal_that_ends_the_process(self):
        core = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, core[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, core)
        for deadly in (signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT):
            with self.subTest(deadly.name):
                gateway = self.start().start()
                with answered(gateway, REQUESTS + 1).sock:
                    gateway.process.send_signal(deadly)
                    self.assertEqual(gateway.process.wait(timeout=START_TIMEOUT_SECONDS), -deadly)
                text = gateway.log_text()
                said = f"turnpike: killed by {deadly.name}"
                self.assertIn(said, text)
                lines = access_lines(re.sub(f"{said}.*\n", "", text))
                self.assertEqual([line["client_request_id"] for line in lines[:REQUESTS]],
                                 [f"number-{number}" for number in range(REQUESTS)])

    def test_its_level_is_set_while_the_gateway_runs(self):
        gateway = self.start().start()
        self.assertEqual(gateway.run("log", "level").stdout, "info\n")
        answered(gateway, 2, "/healthz").close()
        self.assertEqual(gateway.run("log", "level", "error").stdout, "error\n")
        answered(gateway, REQUESTS, "/readyz").close()
        again = gateway.run("log", "level", "info", "--json")
        self.assertEqual(json.loads(again.stdout), {"ok": True, "level": "info"})
        answered(gateway, 2, "/version").close()
        gateway.stop()
        paths = [line["path"] for line in access_lines(gateway.log_text())]
        # The line of the last request of each kind may fall into the time of the next level.
        self.assertIn(paths.count("/healthz"), (1, 2))
        self.assertLessEqual(paths.count("/readyz"), 1)
        self.assertEqual(paths.count("/version"), 2)
        lines = [json.loads(line) for line in gateway.log_text().splitlines()]
        self.assertEqual([(line["before"], line["level"]) for line in lines
                          if line["event"] == "log_level_set"],
                         [("info", "error"), ("error", "info")])

    def test_a_level_that_is_none_and_a_gateway_that_is_not_there_are_told(self):
        gateway = self.start()
        none = gateway.run("log", "level", "loud", check=False)
        self.assertEqual(none.returncode, 2)
        self.assertIn("LEVEL: loud not in {debug,info,warning,error}", none.stderr)
        absent = gateway.run("log", "level", "error", check=False)
        self.assertEqual(absent.returncode, 1)
        self.assertIn("no gateway answers at", absent.stderr)

    def test_a_line_is_there_soon_without_another_one(self):
        gateway = self.start()
        os.mkfifo(gateway.directory / "log")
        reader = os.open(gateway.directory / "log", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        gateway.start()
        os.set_blocking(reader, True)
        answered(gateway, 1).close()
        text = ""
        while "number-0" not in text:  # no later event could have flushed it
            text += os.read(reader, 65536).decode()

    def test_a_reader_of_the_log_who_takes_nothing_stops_no_call(self):
        gateway = self.start("runtime.loops=1")
        os.mkfifo(gateway.directory / "log")
        reader = os.open(gateway.directory / "log", os.O_RDONLY | os.O_NONBLOCK)
        gateway.start()
        count = 20_000
        request = f"GET /healthz HTTP/1.1\r\nHost: t\r\nX-Request-Id: {'i' * 120}\r\n"
        requests = (f"{request}\r\n" * (count - 1) + f"{request}Connection: close\r\n\r\n").encode()
        with socket.create_connection(gateway.addresses["api"], timeout=60) as connection:
            sender = threading.Thread(target=connection.sendall, args=(requests,))
            sender.start()
            replies = b""
            while received := connection.recv(1 << 20):
                replies += received
            sender.join()
        self.assertEqual(replies.count(b"HTTP/1.1 200 OK\r\n"), count)
        metrics = gateway.get("/metrics", host="operator").body.decode()
        dropped = int(re.search(r"^turnpike_log_lines_dropped_total (\d+)", metrics, re.M)[1])
        self.assertGreater(dropped, 0)
        os.set_blocking(reader, True)
        pieces = []

        def read():
            while piece := os.read(reader, 1 << 20):
                pieces.append(piece)
            os.close(reader)

        reading = threading.Thread(target=read)
        reading.start()
        gateway.stop()
        reading.join()
        events = [json.loads(line) for line in b"".join(pieces).decode().splitlines()]
        told = sum(event["count"] for event in events if event["event"] == "log_lines_dropped")
        # Scraping the metrics is a request with a line of its own, written after its reply.
        self.assertIn(told, (dropped, dropped + 1))
        self.assertEqual(sum(event["event"] == "access" for event in events) + told, count + 1)


if __name__ == "__main__":
    unittest.main()
