"""The counterparts of x402 for tests and benchmarks: a local chain, a facilitator, a payer and the
official seller. Each is a Node process that uses the locked packages in x402/ (`./dev deps`
installs them).

Nothing here sleeps in order to wait: a process says when it is ready, and the process that counts
calls answers when a count is reached.
"""

import base64
import http.client
import json
import pathlib
import secrets
import unittest
import urllib.parse

import parts

PARTS = pathlib.Path(__file__).resolve().parent / "x402"


def decoded(header):
    """The JSON of a PAYMENT-* header."""
    return json.loads(base64.b64decode(header, validate=True))


def encoded(value):
    """A PAYMENT-* header with this JSON."""
    return base64.b64encode(json.dumps(value).encode()).decode()


class Shared:
    """Parts that take seconds to start; all tests of a module use them, one after the other."""

    parts = {}

    @classmethod
    def part(cls, make, *arguments):
        if make not in cls.parts:
            cls.parts[make] = make(*arguments)
            unittest.addModuleCleanup(lambda: cls.parts.pop(make).close())
        return cls.parts[make]


class Part(parts.Part):
    """A process of x402/ that has reported where it listens."""

    def __init__(self, script, **arguments):
        super().__init__(PARTS / script, **arguments)
        self.url = self.ready.get("url")

    def request(self, method, path, value=None, timeout=60):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc,
                                                timeout=timeout)
        try:
            connection.request(method, path, None if value is None else json.dumps(value))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


class Chain(Part):
    def __init__(self, chain_id=84532):
        super().__init__("chain.mjs", chain_id=chain_id)
        self.network = self.ready["network"]
        self.token = self.ready["token"]
        self.chain_id = chain_id

    def rpc(self, method, *params):
        reply = self.request("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": method,
                                           "params": params})
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def fund(self, address, amount):
        return self.rpc("test_fund", address, str(amount))

    def balance(self, address):
        return int(self.rpc("eth_call", {
            "to": self.token, "data": "0x70a08231" + address[2:].lower().rjust(64, "0")}, "latest"),
            16)

    def is_used(self, authorizer, nonce):
        """EIP-3009's authorizationState."""
        return int(self.rpc("eth_call", {
            "to": self.token,
            "data": "0xe94a0102" + authorizer[2:].lower().rjust(64, "0") + nonce[2:]}, "latest"),
            16) == 1

    def wallet(self, owner):
        """The address of a new contract wallet."""
        return self.rpc("test_wallet", owner)

    def send(self, data):
        """Calls the token, as anyone may. Returns the transaction's hash."""
        return self.rpc("test_send", {"to": self.token, "data": data})

    def hold(self, on=True):
        """Keeps transactions pending; False mines them."""
        self.rpc("test_hold", on)

    def drop(self):
        """Discards pending transactions."""
        self.rpc("test_drop")

    def fault(self, kind):
        """`kind`: close, error, hang, html, or None for no fault; x402/chain.mjs describes them."""
        self.rpc("test_fault", kind)

    def calls(self, method):
        return self.rpc("test_calls").get(method, 0)

    def status(self, transaction):
        """1, 0, or None while it is not in a block."""
        receipt = self.rpc("eth_getTransactionReceipt", transaction)
        return receipt and int(receipt["status"], 16)


class Facilitator(Part):
    def __init__(self, chain):
        super().__init__("facilitator.mjs", rpc=chain.url, chain_id=chain.chain_id)

    def fault(self, endpoint, kind, **rest):
        """`kind` as in x402/facilitator.mjs, or None for no fault. times=N limits how often;
        delay_ms=N."""
        self.request("PUT", "/fault", {"endpoint": endpoint, "kind": kind, **rest})

    def clear(self):
        """Removes all faults; calls that hang continue."""
        for endpoint in ("verify", "settle", "supported"):
            self.fault(endpoint, None)
        self.request("PUT", "/release")

    def release(self):
        self.request("PUT", "/release")

    def calls(self):
        return self.request("GET", "/calls")

    def wait(self, name, count):
        """Waits until `name` (verify, settle, supported, broadcast) was called `count` times in
        all."""
        self.request("GET", f"/reached?name={name}&count={count}")


class Payer(Part):
    """The official client with a key of its own. `wallet`: a contract wallet for which the key
    signs. `most`: the limit for one payment, such as "$5"; the default is the client's own limit.
    """

    def __init__(self, *, key=None, wallet=None, most=""):
        self.key = key or "0x" + secrets.token_hex(32)
        super().__init__("payer.mjs", key=self.key, wallet=wallet or "", most=most)
        self.address = self.ready["address"]

    def command(self, do, **rest):
        reply = self.send_command(do, **rest)
        if "failed" in reply:
            raise RuntimeError(f"{do}: {reply['failed']}")
        return reply

    def fetch(self, url, **request):
        """Requests the URL and pays if asked to."""
        return self.command("fetch", url=url, **request)

    def fetch_without_echo(self, url, **request):
        """Pays with a client that does not send the challenge's extensions back."""
        return self.command("fetch_without_echo", url=url, **request)

    def get(self, url, **request):
        """Requests the URL and does not pay."""
        return self.command("get", url=url, **request)

    def sign(self, challenge):
        return self.command("sign", challenge=challenge)["payment"]

    def sign_many(self, challenge, count, file):
        """Writes `count` payments to `file`, one per line."""
        self.command("sign_many", challenge=challenge, count=count, file=str(file))

    def payment_for(self, url, **request):
        """A payment header for what `url` charges."""
        return self.sign(self.get(url, **request)["headers"]["payment-required"])

    def send(self, url, payment, *, times=1, **request):
        """The replies to `times` simultaneous requests with the same header."""
        return self.command("send", url=url, payment=payment, times=times, **request)["replies"]

    def transfer_data(self, payment):
        return self.command("calldata", payment=payment, of="transfer")["data"]

    def cancel_data(self, payment):
        return self.command("calldata", payment=payment, of="cancel")["data"]

    def verify_offers(self, challenge):
        return self.command("verify_offers", challenge=challenge)["offers"]

    def verify_receipt(self, response, challenge):
        return self.command("verify_receipt", response=response, challenge=challenge)


class Seller(Part):
    """The official Express middleware with an address of its own, in `processes` processes."""

    def __init__(self, facilitator_url, *, price=1000, processes=1):
        self.pay_to = "0x" + secrets.token_hex(20)
        super().__init__("seller.mjs", facilitator=facilitator_url, pay_to=self.pay_to,
                         price=price, processes=processes)

    def served(self):
        return self.request("GET", "/served")["served"]
