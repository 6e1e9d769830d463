"""The other side of x402 for tests and benchmarks: a local chain, a facilitator, a payer and the
official seller, each a Node process of the locked packages in x402/ (./dev deps installs them).

Nothing here waits by sleeping: a process is ready when it says so, counts are waited for at the
place that counts.
"""

import base64
import http.client
import json
import pathlib
import secrets
import urllib.parse

import parts

PARTS = pathlib.Path(__file__).resolve().parent / "x402"


def decoded(header):
    """The JSON of a PAYMENT-* header."""
    return json.loads(base64.b64decode(header, validate=True))


def encoded(value):
    """A PAYMENT-* header that says `value`."""
    return base64.b64encode(json.dumps(value).encode()).decode()


class Part(parts.Part):
    """A process of x402/ that has said where it listens."""

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
        """Calls the token, as anyone may; the transaction's hash."""
        return self.rpc("test_send", {"to": self.token, "data": data})

    def hold(self, on=True):
        """Transactions stay pending; off mines them."""
        self.rpc("test_hold", on)

    def drop(self):
        """Forgets what is pending."""
        self.rpc("test_drop")

    def fault(self, kind):
        """close, error, hang, html; None: none. x402/chain.mjs says what each is."""
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
        """kind as in x402/facilitator.mjs, None: none; times=N: only that often; delay_ms=N."""
        self.request("PUT", "/fault", {"endpoint": endpoint, "kind": kind, **rest})

    def clear(self):
        """No faults; what hangs goes on."""
        for endpoint in ("verify", "settle", "supported"):
            self.fault(endpoint, None)
        self.request("PUT", "/release")

    def release(self):
        self.request("PUT", "/release")

    def calls(self):
        return self.request("GET", "/calls")

    def wait(self, name, count):
        """Until `name` (verify, settle, supported, broadcast) was called that often in all."""
        self.request("GET", f"/reached?name={name}&count={count}")


class Payer(Part):
    """The official client with a key of its own. `wallet`: a contract that the key pays for;
    `most`: what one payment may be, such as "$5", if not the client's own limit."""

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
        """Pays if it is asked to."""
        return self.command("fetch", url=url, **request)

    def fetch_without_echo(self, url, **request):
        """Pays by a client that sends none of the challenge's extensions back."""
        return self.command("fetch_without_echo", url=url, **request)

    def get(self, url, **request):
        """Does not pay."""
        return self.command("get", url=url, **request)

    def sign(self, challenge):
        return self.command("sign", challenge=challenge)["payment"]

    def sign_many(self, challenge, count, file):
        """Writes `count` payments to `file`, one a line."""
        self.command("sign_many", challenge=challenge, count=count, file=str(file))

    def payment_for(self, url, **request):
        """A payment header for what `url` asks."""
        return self.sign(self.get(url, **request)["headers"]["payment-required"])

    def send(self, url, payment, *, times=1, **request):
        """Replies to `times` requests at once that carry the same header."""
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
    """The official Express middleware, paid to an address of its own, in so many processes."""

    def __init__(self, facilitator_url, *, price=1000, processes=1):
        self.pay_to = "0x" + secrets.token_hex(20)
        super().__init__("seller.mjs", facilitator=facilitator_url, pay_to=self.pay_to,
                         price=price, processes=processes)

    def served(self):
        return self.request("GET", "/served")["served"]
