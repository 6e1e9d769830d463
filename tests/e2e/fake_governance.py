"""Fakes, on loopback, of the sources from which governance data is polled: a Snapshot hub
(GraphQL), a Discourse forum and an Ethereum node (JSON-RPC). They speak the real protocols with the
real limits. A test can make them fail, lie, wait, or change their data while a client is reading.
"""

import http.server
import json
import re
import threading
import time
import urllib.parse


class Fake:
    """The server. A subclass implements `reply(method, path, query, headers, body)`, which returns
    a status and a JSON value or bytes."""

    def __init__(self):
        self.requests = []
        self.scripted = []  # (predicate, status, headers, body), each for one request
        self.gate = None    # (predicate, arrived, released)
        self.lock = threading.RLock()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                status, headers, reply = fake.serve(self.command, self.path, self.headers, body)
                if status is None:  # closes the connection without a reply
                    self.close_connection = True
                    return
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply)))
                    self.end_headers()
                    self.wfile.write(reply)
                except OSError:  # the gateway was killed
                    self.close_connection = True

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):  # errors on connections of a gateway that was killed
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        self.url = "http://" + self.address
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def script(self, status, body=b"{}", headers=None, times=1, when=lambda *_: True):
        """Answers the next `times` requests for which `when` is true with this reply."""
        with self.lock:
            self.scripted += [(when, status, headers or {}, body)] * times

    def hold(self, when=lambda *_: True):
        """Makes the next request for which `when` is true wait. Returns two events: (arrived,
        released)."""
        arrived, released = threading.Event(), threading.Event()
        with self.lock:
            self.gate = (when, arrived, released)
        return arrived, released

    def serve(self, method, target, headers, body):
        path, _, raw = target.partition("?")
        query = urllib.parse.parse_qs(raw)
        with self.lock:
            self.requests.append({"method": method, "path": path, "query": query, "body": body,
                                  "headers": dict(headers), "at": time.monotonic()})
            gate = self.gate
            if gate and gate[0](path, query, body):
                self.gate = None
            else:
                gate = None
        if gate:
            gate[1].set()
            gate[2].wait(60)
        with self.lock:
            for place, (when, status, extra, text) in enumerate(self.scripted):
                if when(path, query, body):
                    del self.scripted[place]
                    return status, extra, text
            status, value = self.reply(method, path, query, headers, body)
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return status, {"Content-Type": "application/json"}, text


# --- Snapshot -------------------------------------------------------------------------------------

TOKEN = re.compile(r'\s*([A-Za-z_]\w*|\$\w+|"[^"]*"|-?\d+|[{}():,!\[\]])')


def tokens_of(text):
    at, found = 0, []
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError("syntax error at " + text[at:at + 20])
        found.append(match.group(1))
        at = match.end()
    return found


class GraphQuery:
    """Parses `query($a:T){name(arguments){fields}}`: one selection, with variables."""

    def __init__(self, text, variables):
        self.tokens, self.at, self.variables = tokens_of(text), 0, variables
        self.expect("query")
        if self.peek() == "(":
            while self.next() != ")":
                pass
        self.expect("{")
        self.name = self.next()
        self.expect("(")
        self.arguments = self.pairs(")")
        self.fields = self.selection()
        self.expect("}")

    def peek(self):
        return self.tokens[self.at]

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token):
        got = self.next()
        if got != token:
            raise ValueError(f"expected {token}, got {got}")

    def pairs(self, end):
        found = {}
        while self.peek() != end:
            name = self.next()
            self.expect(":")
            found[name] = self.value()
            if self.peek() == ",":
                self.next()
        self.expect(end)
        return found

    def value(self):
        token = self.next()
        if token == "{":
            return self.pairs("}")
        if token.startswith("$"):
            return self.variables[token[1:]]
        if token.startswith('"'):
            return token[1:-1]
        return int(token) if token.lstrip("-").isdigit() else token

    def selection(self):
        self.expect("{")
        found = {}
        while self.peek() != "}":
            name = self.next()
            found[name] = self.selection() if self.peek() == "{" else None
        self.expect("}")
        return found


def pick(record, fields):
    if not isinstance(record, dict):
        return record
    return {name: record.get(name) if below is None else pick(record.get(name), below)
            for name, below in fields.items()}


class Hub(Fake):
    """`now` decides the state of proposals, as on the real hub."""

    def __init__(self, now):
        super().__init__()
        self.now = now
        self.spaces, self.proposals, self.votes = [], [], []
        self.api_key = None

    def reply(self, method, path, query, headers, body):
        if method != "POST" or path != "/graphql":
            return 404, {}
        if self.api_key and headers.get("x-api-key") != self.api_key:
            return 401, {"error": "unauthorized"}
        try:
            asked = json.loads(body)
            parsed = GraphQuery(asked["query"], asked.get("variables", {}))
            return 200, {"data": {parsed.name: self.select(parsed)}}
        except (ValueError, KeyError) as problem:
            return 400, {"errors": [{"message": str(problem)}]}

    def select(self, query):
        arguments = query.arguments
        first, skip = arguments.get("first", 20), arguments.get("skip", 0)
        if first > 1000 or skip > 5000:
            raise ValueError("The `first` argument must not be greater than 1000, `skip` than 5000")
        rows = [row for row in getattr(self, query.name)
                if self.matches(row, arguments.get("where", {}))]
        order = arguments.get("orderBy", "created")
        rows.sort(key=lambda row: (row.get(order) or 0, row["id"]),
                  reverse=arguments.get("orderDirection", "desc") == "desc")
        rows = [dict(row) for row in rows[skip:skip + first]]
        for row in rows:
            if query.name == "proposals":
                row["state"] = ("pending" if row["start"] > self.now else
                                "active" if row["end"] > self.now else "closed")
        return [pick(row, query.fields) for row in rows]

    @staticmethod
    def matches(row, where):
        for name, wanted in where.items():
            if name.endswith("_in"):
                if len(wanted) > 100:
                    raise ValueError("The `_in` argument must not have more than 100 items")
                if row[name[:-3]] not in wanted:
                    return False
            elif name.endswith("_gte"):
                if (row.get(name[:-4]) or -1) < wanted:
                    return False
            elif name == "space":
                if row["space"]["id"] != wanted:
                    return False
            elif row[name] != wanted:
                return False
        return True

    def add_proposal(self, number, created, start=None, end=None, **more):
        proposal = {
            "id": "0x%064x" % number, "ipfs": "bafkrei%d" % number, "author": "0x" + "a" * 40,
            "created": created, "updated": None, "space": {"id": "tide.eth", "name": "Tide"},
            "type": "basic", "plugins": {}, "title": f"Proposal {number}", "body": "Text",
            "discussion": "", "choices": ["For", "Against", "Abstain"], "start": start or created,
            "end": end or created + 1000, "quorum": 0, "link": "", "scores": [3, 1, 0],
            "scores_state": "final", "scores_total": 4, "votes": 2, "flagged": False, **more}
        self.proposals.append(proposal)
        return proposal

    def add_vote(self, number, proposal, created, **more):
        self.votes.append({
            "id": "vote%d" % number, "ipfs": "vote%d" % number, "voter": "0x%040x" % number,
            "created": created, "choice": 1, "vp": 1.5, "reason": "",
            "proposal": {"id": proposal["id"]}, "space": dict(proposal["space"]), **more})


# --- Discourse ------------------------------------------------------------------------------------

class Forum(Fake):
    per_page = 30

    def __init__(self):
        super().__init__()
        self.topics, self.posts, self.gone = {}, {}, set()
        self.next_post = 1000

    def add_topic(self, number, at, posts=1, **more):
        self.topics[number] = {
            "id": number, "title": f"Topic {number}", "slug": f"topic-{number}", "posts_count": 0,
            "reply_count": 0, "highest_post_number": 0, "created_at": at, "last_posted_at": at,
            "bumped_at": at, "visible": True, "closed": False, "archived": False, "pinned": False,
            "views": 10, "like_count": 1, "category_id": 5, "tags": ["grants"],
            "posters": [{"user_id": 1, "description": "Original Poster"}], **more}
        self.posts[number] = []
        for _ in range(posts):
            self.add_post(number, at)

    def add_post(self, number, at):
        topic, posts = self.topics[number], self.posts[number]
        self.next_post += 1
        posts.append({"id": self.next_post, "username": f"user{len(posts) % 4}", "created_at": at,
                      "updated_at": at, "cooked": f"<p>Post {len(posts) + 1}</p>",
                      "post_number": len(posts) + 1, "post_type": 1,
                      "actions_summary": [{"id": 2, "count": 3}]})
        topic["posts_count"] = topic["highest_post_number"] = len(posts)
        topic["last_posted_at"] = topic["bumped_at"] = at

    def reply(self, method, path, query, headers, body):
        if path == "/categories.json":
            return 200, {"category_list": {"categories": [{"id": 5, "name": "Governance"}]}}
        if path == "/latest.json":
            return 200, self.latest(int(query.get("page", ["0"])[0]))
        thread = re.fullmatch(r"/t/(\d+)(/posts)?\.json", path)
        if not thread or int(thread[1]) in self.gone or int(thread[1]) not in self.topics:
            return 404, {"errors": ["not found"]}
        number = int(thread[1])
        posts = self.posts[number]
        if thread[2]:
            wanted = [int(post) for post in query["post_ids[]"]]
            return 200, {"id": number, "post_stream": {
                "posts": [post for post in posts if post["id"] in wanted]}}
        return 200, {**self.topics[number], "post_stream": {
            "posts": posts[:20], "stream": [post["id"] for post in posts]}}

    def latest(self, page):
        topics = sorted(self.topics.values(), key=lambda topic: topic["bumped_at"], reverse=True)
        topics.sort(key=lambda topic: not topic["pinned"])
        begin = page * self.per_page
        shown = topics[begin:begin + self.per_page]
        answer = {"per_page": self.per_page, "topics": shown}
        if begin + self.per_page < len(topics):
            answer["more_topics_url"] = f"/latest?page={page + 1}"
        return {"users": [{"id": 1, "username": "opener"}], "topic_list": answer}


# --- Ethereum -------------------------------------------------------------------------------------

TOPICS = {
    "created": "0x7d84a6263ae0d98d3329bd7b46bb4e8d6f98cd35a7adb45c274c8b7fd5ebd5e0",
    "vote": "0xb8e138887d0aa13bab447e82de9d5c1777041ecd21ca36ba824ff1e6c07ddda4",
    "queued": "0x9a2e42fd6722813d69113e7d0079d3d940171428df7373df9c7f7617cfda2892",
    "executed": "0x712ae1383f79ac853f8d882153778e0260ef8f03b504e2866e0593e04d2b291f",
    "canceled": "0x789cf55be980739dad1d0699b93b58e806b51c9d96619bfa8fe0a28abaa7b30c",
}
GOVERNOR = "0x" + "c0" * 20


def word(value):
    return "%064x" % value


def text_words(text):
    data = text.encode()
    return word(len(data)) + data.hex().ljust(-(-len(data) // 32) * 64, "0")


class Node(Fake):
    """A chain with a block every 12 s. `range_max` is the real limit on a range of blocks; the
    error message names another one."""

    def __init__(self, head, first_time, chain_id=1):
        super().__init__()
        self.chain_id, self.first_time = chain_id, first_time
        self.head = head
        self.fork = {}  # block -> salt of the hashes from there on
        self.logs = []
        self.range_max, self.takes_batches = 10_000, True
        self.functions = {}  # of the contract: selector -> function from the argument to the result

    def tell_modes(self, clock, quorum):
        """Answers as a contract of OpenZeppelin; `quorum` is called with the value of the
        contract's clock."""
        def text(value):
            return lambda _: "0x" + word(32) + text_words(value)
        self.functions = {"4bf5d7e9": text(clock),
                          "dd4e2ba5": text("support=bravo&quorum=for,abstain"),
                          "f8ce560a": lambda at: "0x" + word(quorum(int(at, 16)))}

    def hash_of(self, number):
        salt = max((fork for block, fork in self.fork.items() if block <= number), default=0)
        return "0x%056x%08x" % (salt, number)

    def block(self, number):
        if number > self.head:
            return None
        return {"number": hex(number), "hash": self.hash_of(number),
                "timestamp": hex(self.first_time + 12 * number), "transactions": []}

    def reorganise(self, block, keep=lambda log: False):
        """Replaces the blocks from `block` on with ones that have other hashes. Their logs are
        dropped, except those for which `keep` is true."""
        with self.lock:
            self.fork[block] = max(self.fork.values(), default=0) + 1
            self.logs = [log for log in self.logs if log["block"] < block or keep(log)]

    def emit(self, kind, block, topics=(), data=""):
        with self.lock:
            self.logs.append({"block": block, "topics": [TOPICS[kind], *topics], "data": data,
                              "index": sum(1 for log in self.logs if log["block"] == block)})

    def create(self, proposal, block, start, end, title):
        dynamic = [word(1) + word(0xdead), word(1) + word(0), word(1) + word(32) + text_words(""),
                   word(1) + word(32) + word(0)]
        offsets, at = [], 9 * 32
        for part in (*dynamic, text_words(f"# {title}\n\nText")):
            offsets.append(at)
            at += len(part) // 2
        self.emit("created", block, data=(
            word(proposal) + word(0xabc) + "".join(word(offset) for offset in offsets[:4]) +
            word(start) + word(end) + word(offsets[4]) + "".join(dynamic) +
            text_words(f"# {title}\n\nText")))

    def vote(self, proposal, voter, support, weight, block):
        self.emit("vote", block, (("0x" + word(voter)),),
                  word(proposal) + word(support) + word(weight) + word(128) + text_words("why"))

    def finish(self, kind, proposal, block):
        self.emit(kind, block, data=word(proposal) + (word(0) if kind == "queued" else ""))

    def reply(self, method, path, query, headers, body):
        asked = json.loads(body)
        if isinstance(asked, list):
            if not self.takes_batches:
                return 400, {"error": "batches are not supported"}
            return 200, [self.answer(one) for one in asked]
        return 200, self.answer(asked)

    def answer(self, asked):
        result = {"jsonrpc": "2.0", "id": asked["id"]}
        parameters = asked["params"]
        if asked["method"] == "eth_chainId":
            result["result"] = hex(self.chain_id)
        elif asked["method"] == "eth_blockNumber":
            result["result"] = hex(self.head)
        elif asked["method"] == "eth_getBlockByNumber":
            result["result"] = self.block(int(parameters[0], 16))
        elif asked["method"] == "eth_getLogs":
            self.answer_logs(parameters[0], result)
        elif asked["method"] == "eth_call":
            assert parameters[0]["to"] == GOVERNOR and parameters[1] == "latest", parameters
            data = parameters[0]["data"]
            function = self.functions.get(data[2:10])
            if function:
                result["result"] = function(data[10:])
            else:
                result["error"] = {"code": 3, "message": "execution reverted"}
        else:
            result["error"] = {"code": -32601, "message": "no such method"}
        return result

    def answer_logs(self, wanted, result):
        begin, end = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        if end - begin + 1 > self.range_max:
            # Real nodes, too, name a limit that is not the one they enforce.
            result["error"] = {"code": -32005, "message": "query exceeds the range of 10000 blocks"}
            return
        found = [log for log in self.logs
                 if begin <= log["block"] <= end and log["topics"][0] in wanted["topics"][0]]
        result["result"] = [
            {"address": GOVERNOR, "topics": log["topics"], "data": "0x" + log["data"],
             "blockNumber": hex(log["block"]), "blockHash": self.hash_of(log["block"]),
             "transactionHash": "0x" + word(log["block"] * 1000 + log["index"]),
             "logIndex": hex(log["index"]), "transactionIndex": "0x0", "removed": False}
            for log in found]
