"""Durability that an operator relaxed shows where the deployment is looked at."""

import unittest

from gateway import Gateway


class Durability(unittest.TestCase):
    def relaxed(self, *settings):
        gateway = Gateway(settings=settings)
        self.addCleanup(gateway.close)
        gateway.start()
        reply = gateway.get("/readyz")
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()["relaxed"]

    def test_readyz_says_nothing_of_full_durability(self):
        self.assertEqual(self.relaxed(), [])

    def test_readyz_says_that_durability_is_relaxed(self):
        self.assertEqual(self.relaxed("storage.durability=relaxed"), [
            "Charges are answered before the disk has them: the last ones may be lost in a crash."])


if __name__ == "__main__":
    unittest.main()
