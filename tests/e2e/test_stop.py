"""Stopping is bounded in time, whatever a plugin does, and a log line says what was left."""

import http.client
import os
import signal
import subprocess
import threading
import time
import unittest

from gateway import BUILD, Gateway, new_directory

PLUGINS = BUILD / "tests" / "fixtures" / "plugins" / "good"
DRAIN_MS = 300
GIVE_UP_MS = 2000
BUSY_MS = 5000  # extra time that a busy machine takes to end the process

REGISTRY = """
provider: {{key: test, name: Test provider, base_path: /v1/gateway/test}}
prices:
  test.standard: {{version: 1, credit_cost: 2}}
upstreams:
  main:
    plugin: {plugin}
    probe: {{interval_ms: 1000, per_day_max: 86400}}
    settings: {{gate: {gate}, stuck_in: "{stuck_in}"}}
defaults: {{price: test.standard, upstream: main}}
routes:
  - {{path: /stuck, upstream_settings: {{fault: stuck}}}}
"""
MORE = """
provider: test
upstreams:
  other: {{plugin: faulty, settings: {{gate: {gate}, stuck_in: bind}}}}
routes:
  - {{path: /other, upstream: other, price: test.standard}}
"""


class Stop(unittest.TestCase):
    """Each plugin blocks forever on a FIFO that the test holds open."""

    def setUp(self):
        self.registry = new_directory(self)
        self.gate = new_directory(self) / "gate"
        os.mkfifo(self.gate)

    def write_registry(self, plugin, stuck_in):
        (self.registry / "test.yaml").write_text(
            REGISTRY.format(plugin=plugin, gate=self.gate, stuck_in=stuck_in))
        return self.registry

    def start(self, plugin, stuck_in=""):
        gateway = Gateway(
            registry=self.write_registry(plugin, stuck_in), plugins=PLUGINS,
            settings=[f"limits.drain_timeout_ms={DRAIN_MS}", "status.round_ms=1000",
                      f"status.enabled={str(stuck_in == 'probe').lower()}",
                      f"limits.give_up_timeout_ms={GIVE_UP_MS}", "runtime.loops=1"])
        self.addCleanup(gateway.close)
        _, self.key = gateway.new_key()
        return gateway.start()

    def wait_for_plugin(self):
        """Waits for the plugin: opening a FIFO for writing blocks until it has a reader. The reader
        then waits for the writer to close it."""
        descriptor = os.open(self.gate, os.O_WRONLY)
        self.addCleanup(os.close, descriptor)

    def stops_in_time(self, gateway, waited_for, calls_inside=None):
        log = gateway.directory / "log"
        began = time.monotonic()
        gateway.process.send_signal(signal.SIGTERM)
        code = gateway.process.wait(timeout=60)
        taken_ms = (time.monotonic() - began) * 1000
        text = log.read_text()
        self.assertEqual(code, 1, text)
        self.assertLess(taken_ms, DRAIN_MS + GIVE_UP_MS + BUSY_MS)
        lines = [line for line in text.splitlines() if "stopped_with_work_left" in line]
        self.assertEqual(len(lines), 1, text)
        self.assertIn(f'"waited_for":"{waited_for}"', lines[0])
        if calls_inside is not None:
            self.assertIn(f'"calls_inside":"{calls_inside}"', lines[0])

    def call_in_the_background(self, gateway):
        def call():
            try:
                gateway.get("/v1/gateway/test/stuck", key=self.key)
            except (OSError, http.client.HTTPException):  # the gateway ends
                pass
        thread = threading.Thread(target=call)
        thread.start()
        self.addCleanup(thread.join)

    def test_a_call_that_never_returns_on_the_pool(self):
        gateway = self.start("faulty_blocking")
        self.call_in_the_background(gateway)
        self.wait_for_plugin()
        self.stops_in_time(gateway, "works on the pool", "faulty_blocking 1")

    def test_a_call_that_never_returns_on_its_loop(self):
        gateway = self.start("faulty")
        self.call_in_the_background(gateway)
        self.wait_for_plugin()
        self.stops_in_time(gateway, "a plugin's own work")  # the plugin's fiber is on the same loop

    def test_a_probe_that_never_returns_on_the_pool(self):
        gateway = self.start("faulty_blocking", "probe")
        self.wait_for_plugin()
        self.stops_in_time(gateway, "works on the pool")

    def test_a_probe_that_never_returns_on_its_loop(self):
        gateway = self.start("faulty", "probe")
        self.wait_for_plugin()
        self.stops_in_time(gateway, "a look for the status", "faulty 1")

    def test_a_reload_that_never_returns(self):
        for by_signal in (False, True):
            with self.subTest(by_signal=by_signal):
                gateway = self.start("faulty")
                (self.registry / "more.yaml").write_text(MORE.format(gate=self.gate))
                if by_signal:
                    gateway.process.send_signal(signal.SIGHUP)
                else:
                    reload = subprocess.Popen(gateway.command("reload"), stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL)
                    self.addCleanup(reload.wait)
                self.wait_for_plugin()
                self.stops_in_time(gateway, "a reload")
                (self.registry / "more.yaml").unlink()

    def test_a_destructor_that_never_returns(self):
        gateway = self.start("faulty", "end")
        holding = threading.Thread(target=self.wait_for_plugin)
        holding.start()
        self.stops_in_time(gateway, "destructors of plugins, or the database")
        holding.join()

    def test_with_nothing_left_it_takes_no_time_and_says_nothing(self):
        times = []
        while not times or times[-1] >= GIVE_UP_MS / 1000:
            self.assertLess(len(times), 5, times)  # more than one only if the machine is busy
            gateway = self.start("faulty_blocking")
            log = gateway.directory / "log"
            began = time.monotonic()
            gateway.process.send_signal(signal.SIGTERM)
            self.assertEqual(gateway.process.wait(timeout=60), 0)
            times.append(time.monotonic() - began)
            self.assertNotIn("stopped_with_work_left", log.read_text())


if __name__ == "__main__":
    unittest.main()
