#!/usr/bin/env python3
"""Compares public pages with nginx serving the same bytes from a file, in one run on this machine's
loopback: both log a line for each request, and wrk and h2load drive both.

Rounds alternate. Printed are the medians of the requests per second and the ratio to nginx. Load is
bounded: ROUNDS (3) times the pages below, two sides, two generators, SECONDS_EACH (2) each.
"""

import http.client
import os
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
sys.path.insert(0, str(ROOT / "benchmarks" / "gateway"))

from driving import h2load, wrk, write_script  # noqa: E402: the path is set above
from forward_and_hold import free_port  # noqa: E402
from gateway import Gateway  # noqa: E402
from nginx_sides import Nginx  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS_EACH = int(os.environ.get("SECONDS_EACH", "2"))
CONNECTIONS = 64
PAGES = ("/", "/pricing", "/pricing.md", "/assets/site.css")


def body_of(address, path):
    connection = http.client.HTTPConnection(*address)
    connection.request("GET", path, headers={"Accept": "*/*"})
    reply = connection.getresponse()
    body = reply.read()
    if reply.status != 200:
        raise RuntimeError(f"{path}: {reply.status}")
    return body, reply.headers["Content-Type"]


def nginx_side(address, directory):
    """nginx with each page as a file."""
    port = free_port()
    locations = ""
    for number, path in enumerate(PAGES):
        body, content_type = body_of(address, path)
        file = pathlib.Path(directory, f"page{number}")
        file.write_bytes(body)
        # nginx takes a path that ends with a slash for a directory, so "/" is rewritten.
        where = (f"root {directory}; rewrite ^ /{file.name} break;" if path.endswith("/")
                 else f"alias {file};")
        locations += (f"location = {path} {{ default_type '{content_type}'; types {{ }}"
                      f" {where} }}\n")
    server = (f"sendfile on; open_file_cache max=100;\nserver {{ listen 127.0.0.1:{port} reuseport"
              f" backlog=4096;\n{locations} }}")
    return Nginx(2, server, logs=True), ("127.0.0.1", port)


def main():
    gateway = Gateway(settings=["log.level=info"]).start(frozenset({"web"}))
    try:
        with tempfile.TemporaryDirectory(prefix="turnpike-pages-") as directory:
            os.chmod(directory, 0o755)  # nginx's workers read it as another user
            nginx, nginx_address = nginx_side(gateway.addresses["web"], directory)
            try:
                compare(gateway.addresses["web"], nginx_address, directory)
            finally:
                nginx.close()
    finally:
        gateway.close()


def compare(own, other, directory):
    headers = [("Accept", "*/*")]
    script = write_script(pathlib.Path(directory, "pages.lua"), headers)
    drives = {
        "wrk": lambda url: wrk(CONNECTIONS, url, script, SECONDS_EACH),
        "h2load": lambda url: h2load(CONNECTIONS, url, headers, SECONDS_EACH),
    }
    print(f"{'page':20} {'bytes':>7} {'driven by':10} {'gateway/s':>10} {'nginx/s':>10} ratio")
    for path in PAGES:
        size = len(body_of(own, path)[0])
        for name, drive in drives.items():
            rates = {own: [], other: []}
            for _ in range(ROUNDS):
                for side, (host, port) in enumerate((own, other)):
                    load = drive(f"http://{host}:{port}{path}")
                    if load.others > 0:  # h2load may count a reply that arrives as it ends
                        raise RuntimeError(f"{path}: {load.others} replies were not 2xx")
                    rates[(own, other)[side]].append(load.rate)
            ours, theirs = (statistics.median(rates[side]) for side in (own, other))
            print(f"{path:20} {size:7} {name:10} {ours:10.0f} {theirs:10.0f} {ours / theirs:5.2f}")


if __name__ == "__main__":
    main()
