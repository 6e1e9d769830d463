"""A real gateway process for one test, with its own data directory, database, registry and free
ports.

Nothing here sleeps in order to wait: a listener is ready when it says so on standard output, and a
process has ended when wait() returns. Only processes started here are ended, by their id.
"""

import fcntl
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TURNPIKE_BINARY_DIR", ROOT / "build" / "release"))
TURNPIKE = BUILD / "turnpike"
GOVDATA_IMPORT = BUILD / "govdata-import"
START_TIMEOUT_SECONDS = 60
# No test trusts an authority of the system, and reading all of them takes a sixth of a start.
os.environ["SSL_CERT_FILE"] = os.devnull

# The head of a registry: a provider and its one upstream, which belongs to the test. The test
# appends prices, defaults and routes.
ONE_UPSTREAM = """
provider: {{key: test, name: Test provider, base_path: /v1/gateway/test}}
upstreams:
  main:
    plugin: http
    settings: {{base_url: "http://{address}", prefix: /v1/gateway/test,
               allow_private_addresses: true, breaker: {{failures: 1000}}}}
"""


class Reply:
    """One HTTP reply, read to its end. `complete` is false if the connection broke off earlier."""

    def __init__(self, status, headers, body, complete=True):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body
        self.complete = complete

    def json(self):
        return json.loads(self.body)

    def error_code(self):
        return self.json()["error"]["code"]


class Postgres:
    """A temporary PostgreSQL on a Unix socket in a temporary directory."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="turnpike-pg-"))
        binaries = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.prefix = []
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.directory, "postgres", "postgres")
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.binaries = binaries
        self.make_data()
        self.databases = 0
        self.start()

    def make_data(self):
        """Copies the data of a new server. The first test to come here makes them: initdb takes
        many times as long as copying them."""
        kept = BUILD / "tests" / f"postgres-{self.binaries.parent.name}"
        with open(BUILD / "tests" / "postgres.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                made = self.directory / "data"
                subprocess.run(
                    [*self.prefix, self.binaries / "initdb", "-D", made, "-U", "turnpike",
                     "-A", "trust", "-N"], check=True, capture_output=True, cwd=self.directory)
                being_copied = kept.with_suffix(".part")
                shutil.rmtree(being_copied, ignore_errors=True)
                subprocess.run(["cp", "-a", made, being_copied], check=True)
                being_copied.rename(kept)
                return
        subprocess.run(["cp", "-a", kept, self.directory / "data"], check=True)

    def start(self):
        """May also be called after stop(); the data is kept."""
        self.process = subprocess.Popen(
            [*self.prefix, self.binaries / "postgres", "-D", self.directory / "data",
             "-k", self.directory, "-c", "listen_addresses=", "-c", "max_connections=100"],
            stderr=subprocess.PIPE, text=True, cwd=self.directory)
        for line in self.process.stderr:
            if "ready to accept connections" in line:
                break
        else:
            raise RuntimeError("PostgreSQL did not start")
        # Nobody reads its log from here on, but a full pipe would block it.
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr,
                                      stdout=subprocess.DEVNULL)

    def stop(self, how=signal.SIGQUIT):
        """SIGQUIT ends the server at once, as a crash does."""
        self.process.send_signal(how)
        self.process.wait()
        self.drain.wait()
        self.process.stderr.close()

    def new_database(self):
        self.databases += 1
        name = f"test{self.databases}"
        subprocess.run([self.binaries / "createdb", "-h", self.directory, "-U", "turnpike", name],
                       check=True, capture_output=True)
        return f"postgresql://turnpike@/{name}?host={self.directory}"

    def close(self):
        if self.process.returncode is None:
            self.stop(signal.SIGINT)  # fast shutdown
        shutil.rmtree(self.directory, ignore_errors=True)


class Redis:
    """A temporary Redis on a free port, with no file."""

    def __init__(self):
        # This socket stays bound, so that the kernel gives the port to no other process. Redis can
        # bind it as well, because both sockets set SO_REUSEADDR and this one never listens.
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.reserved.bind(("127.0.0.1", 0))
        port = self.reserved.getsockname()[1]
        self.url = f"redis://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "",
             "--appendonly", "no"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "Ready to accept connections" in line:
                return
        raise RuntimeError("redis-server did not start")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.reserved.close()


def new_directory(test):
    """A directory that is removed after the test, or after the last test of a class."""
    directory = tempfile.TemporaryDirectory(prefix="turnpike-test-")
    (test.addClassCleanup if isinstance(test, type) else test.addCleanup)(directory.cleanup)
    return pathlib.Path(directory.name)


def new_registry(test, text):
    """The directory of a registry that consists of one file."""
    directory = new_directory(test)
    (directory / "test.yaml").write_text(text)
    return directory


def plugins_of(test, *names):
    """A directory with these plugins alone: starting with all of them takes half as long again."""
    directory = new_directory(test)
    for name in names:
        shutil.copy(BUILD / "plugins" / f"{name}.so", directory)
    return directory


class Gateway:
    """`turnpike serve` on free ports. `settings` are texts for `--set`, applied over the file
    `config`. `registry` is a directory."""

    def __init__(self, *, settings=(), registry=None, postgres_url=None, plugins=None, config=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="turnpike-e2e-"))
        self.registry = registry or ROOT / "registry"
        self.config = config or ROOT / "config" / "turnpike.yaml"
        self.settings = [
            f"data_dir={self.directory}",
            f"registry.path={self.registry}",
            "hosts.api.listen=127.0.0.1:0",
            "hosts.mcp.listen=127.0.0.1:0",
            "hosts.web.listen=127.0.0.1:0",
            "hosts.operator.listen=127.0.0.1:0",
            f"site.directory={ROOT / 'site'}",  # test binaries have no site beside them
            "log.level=warning",
            "status.enabled=false",  # no requests except those of the test
            *settings,
        ]
        if plugins:
            self.settings.append(f"plugins.directory={plugins}")
        if postgres_url:
            self.settings += ["storage.engine=postgres", f"storage.postgres.url={postgres_url}"]
        self.process = None
        self.addresses = {}

    def command(self, *words):
        options = [word for setting in self.settings for word in ("--set", setting)]
        return [TURNPIKE, *words, "--config", self.config, *options]

    def run(self, *words, check=True):
        result = subprocess.run(self.command(*words), capture_output=True, text=True,
                                timeout=START_TIMEOUT_SECONDS)
        if check and result.returncode != 0:
            raise RuntimeError(f"turnpike {' '.join(words)}: exit code {result.returncode}\n"
                               f"{result.stdout}{result.stderr}")
        return result

    def run_json(self, *words):
        return json.loads(self.run(*words, "--json").stdout)

    def start(self, wanted=frozenset({"api", "mcp", "operator"})):
        self.log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen(self.command("serve"), stdout=subprocess.PIPE,
                                        stderr=self.log, text=True)
        while wanted - self.addresses.keys():
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the gateway did not start:\n" + self.log_text())
            event = json.loads(line)
            if event["event"] == "listening":
                host, port = event["address"].rsplit(":", 1)
                self.addresses[event["host"]] = (host, int(port))
        return self

    def log_text(self):
        return (self.directory / "log").read_text()

    def kill(self):
        self.process.kill()
        self._ended()

    def stop(self, expected=0):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=START_TIMEOUT_SECONDS)
        self._ended()
        assert code == expected, f"exit code {code}:\n{self.log_text()}"

    def _ended(self):
        self.process.wait()
        self.process.stdout.close()
        self.log.close()
        self.process = None
        self.addresses = {}

    def close(self):
        if self.process is not None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def new_key(self, credits=0):
        """Creates an account with its starter grant plus `credits`. Returns its id and the secret
        of a key."""
        account = self.run_json("account", "create", "--name", "e2e")["id"]
        if credits:
            self.run_json("grant", "--account", account, "--credits", str(credits))
        return account, self.run_json("key", "create", "--account", account, "--name",
                                      "e2e")["secret"]

    def balance(self, account, key):
        reply = self.get(f"/v1/billing-accounts/{account}/credit-balance", key=key)
        assert reply.status == 200, reply.body
        return int(reply.json()["creditBalance"])

    def purchase_state(self, account, key, purchase_id):
        """What the account is told of its purchase; None while it is told of no state."""
        reply = self.get(f"/v1/billing-accounts/{account}/purchases/{purchase_id}", key=key)
        return reply.json().get("state")

    def call(self, method, target, *, key=None, headers=(), body=None, host="api", timeout=60):
        """Sends one request on a new connection; header names may repeat."""
        connection = http.client.HTTPConnection(*self.addresses[host], timeout=timeout)
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            if key:
                connection.putheader("Authorization", "Bearer " + key)
            for name, value in headers:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Reply(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def get(self, target, **options):
        return self.call("GET", target, **options)

    def raw(self, data, *, host="api", timeout=20):
        """Sends `data` and returns the bytes received until the gateway closes the connection."""
        with socket.create_connection(self.addresses[host], timeout=timeout) as connection:
            connection.sendall(data)
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
            return received
