"""A node of a made-up Substrate chain, on a loopback port. It speaks JSON-RPC over HTTP. Its blocks
have hashes computed from their headers, and each block has a state of its own. A test can make the
node lie, forget or delay through `meddle`.
"""

import hashlib
import http.server
import json
import threading
import time

CODE = "0x3a636f6465"
AUTHORIZED = "0x26aa394eea5630e07c48ae0c9558cef72fa9f1bf25567808771bff091dc89ecd"
NOW = "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"

# Runtime code of spec examplechain 1000001, plain and compressed.
PLAIN = bytes.fromhex(
    "0061736d0100000000310c72756e74696d655f61706973df6acb689907609b0500000037e397fc7c91f5e402000000"
    "40fe3ad401f8959a0600000000430f72756e74696d655f76657273696f6e306578616d706c65636861696e4c706172"
    "6974792d6578616d706c65636861696e0000000041420f0000000000001a00000001")
NEW = bytes.fromhex(
    "52bc537646db8e0528b52ffd0068a5030074060061736d0100000000310c72756e74696d655f61706973df6acb6899"
    "07609b0500000037e397fc7c91f5e40200000040fe3ad401f8959a0600000000430f76657273696f6e306578616d70"
    "6c65636861696e4c7061726974792d0000000041420f001a000000010300afc0b9c99d5b424101")
OLD = PLAIN.replace((1000001).to_bytes(4, "little"), (1000000).to_bytes(4, "little"))


def blake2(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def text(data):
    return "0x" + data.hex()


def compact(number):
    return bytes([number << 2]) if number < 64 else (number << 2 | 1).to_bytes(2, "little")


class Block:
    def __init__(self, parent, number, code, spec, replaces):
        self.parent, self.number, self.code, self.spec = parent, number, code, spec
        self.root = blake2(code)
        self.logs = [bytes.fromhex("0642414245")] + ([b"\x08"] if replaces else [])
        self.storage = {NOW: int(time.time() * 1000).to_bytes(8, "little")}
        header = parent + compact(number) + self.root + bytes(32) + compact(len(self.logs))
        self.hash = blake2(header + b"".join(self.logs))


class FakeChain:
    def __init__(self):
        self.blocks, self.finalized, self.meddle, self.requests = [], 0, None, 0
        self.add(OLD, 1000000)
        chain = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = json.dumps(chain.answer(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def add(self, code, spec, replaces=False):
        parent = self.blocks[-1].hash if self.blocks else bytes(32)
        self.blocks.append(Block(parent, len(self.blocks), code, spec, replaces))
        self.finalized = len(self.blocks) - 1
        return self.blocks[-1]

    def answer(self, asked):
        self.requests += 1
        reply = {"jsonrpc": "2.0", "id": asked["id"]}
        try:
            result = self.result(asked["method"], asked["params"])
            if self.meddle:
                result = self.meddle(asked["method"], asked["params"], result)
            reply["result"] = result
        except LookupError as error:
            reply["error"] = {"code": -32000, "message": str(error)}
        return reply

    def block(self, name):
        for block in self.blocks:
            if text(block.hash) == name:
                return block
        raise LookupError("Client error: UnknownBlock: header not found")

    def result(self, method, params):
        if method == "chain_getBlockHash":
            number = params[0] if params else len(self.blocks) - 1
            return text(self.blocks[number].hash) if number < len(self.blocks) else None
        if method == "chain_getFinalizedHead":
            return text(self.blocks[self.finalized].hash)
        block = self.block(params[-1])
        if method == "chain_getHeader":
            return {"parentHash": text(block.parent), "number": hex(block.number),
                    "stateRoot": text(block.root), "extrinsicsRoot": text(bytes(32)),
                    "digest": {"logs": [text(log) for log in block.logs]}}
        if method == "state_getRuntimeVersion":
            return {"specName": "examplechain", "implName": "parity-examplechain",
                    "authoringVersion": 0, "specVersion": block.spec, "implVersion": 0, "apis": [],
                    "transactionVersion": 26, "stateVersion": 1}
        value = block.code if params[0] == CODE else block.storage.get(params[0])
        if value is None:
            return None
        return text(blake2(value) if method == "state_getStorageHash" else value)
