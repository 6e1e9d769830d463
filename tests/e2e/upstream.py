"""A scripted HTTP upstream: its path says how it answers, and it records the requests it gets.

  /status/N        status N with a small JSON body
  /bytes/N         200 with N bytes of JSON string, with a length
  /chunks/N        200 with N bytes, chunked
  /cut/N           announces N bytes, sends half, breaks the connection
  /cut-chunks/N    chunked, breaks the connection before the last chunk
  /garbage         something that is not HTTP
  /close           closes the connection without a reply
  /redirect        302 to another host
  /slow            answers only when release() is called (or never)
  /html            200 text/html
  /late/N          as /bytes/N, after 50 ms
  /once/N          status N to the first request for a target, as /bytes/100 to the others
  /empty           200 without a body
  /items/JSON      200 {"items": JSON}
  /                200, not recorded: the gateway itself checks with it whether the upstream answers
  anything else    200 and a JSON echo of method, target, headers and body
"""

import json
import socket
import threading
import urllib.parse


class Upstream:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.requests = []
        self.released = threading.Event()
        self.arrived = threading.Semaphore(0)
        self.open = True
        threading.Thread(target=self._accept, daemon=True).start()

    def release(self):
        self.released.set()

    def close(self):
        self.open = False
        self.released.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while self.open:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._serve_one(connection, stream):
                pass

    def _serve_one(self, connection, stream):
        try:
            line = stream.readline()
            if not line:
                return False
            method, target, _ = line.decode("latin-1").split(" ", 2)
            headers = []
            while (field := stream.readline().rstrip(b"\r\n")):
                name, _, value = field.decode("latin-1").partition(":")
                headers.append((name.lower(), value.strip()))
            length = int(dict(headers).get("content-length", "0"))
            body = stream.read(length)
            if target == "/":
                self._send(connection, b"200", b"{}")
                return True
            request = {"method": method, "target": target, "headers": headers,
                       "body": body.decode("latin-1")}
            self.requests.append(request)
            self.arrived.release()
            return self._answer(connection, target.partition("?")[0], request)
        except (OSError, ValueError):
            return False

    def _answer(self, connection, path, request):
        kind, _, argument = path.rpartition("/upstream/")[2].partition("/")
        if kind == "status":
            body = json.dumps({"status": int(argument)}).encode()
            extra = b"Retry-After: 7\r\n" if argument == "429" else b""
            self._send(connection, argument.encode(), body, extra=extra)
        elif kind == "bytes":
            self._send(connection, b"200", json_of_size(int(argument)))
        elif kind in ("chunks", "cut-chunks"):
            self._send_chunks(connection, json_of_size(int(argument)), whole=kind == "chunks")
            return kind == "chunks"
        elif kind == "cut":
            self._send(connection, b"200", json_of_size(int(argument)), keep=0.5)
            return False
        elif kind == "garbage":
            connection.sendall(b"this is not HTTP\r\n\r\n")
            return False
        elif kind == "close":
            return False
        elif kind == "redirect":
            self._send(connection, b"302", b"{}", extra=b"Location: http://192.0.2.1/\r\n")
        elif kind == "late":
            threading.Event().wait(0.05)
            self._send(connection, b"200", json_of_size(int(argument)))
        elif kind == "once":
            asked = sum(each["target"] == request["target"] for each in self.requests)
            body = json_of_size(100)
            self._send(connection, argument.encode() if asked == 1 else b"200", body)
        elif kind == "empty":
            self._send(connection, b"200", b"")
        elif kind == "items":
            items = urllib.parse.unquote_to_bytes(argument)
            self._send(connection, b"200", b'{"items": ' + items + b"}")
        elif kind == "html":
            self._send(connection, b"200", b"<p>hi</p>", content_type=b"text/html")
        else:
            if kind == "slow":
                self.released.wait()
            self._send(connection, b"200", json.dumps(request).encode())
        return True

    @staticmethod
    def _send(connection, status, body, *, extra=b"", content_type=b"application/json", keep=1.0):
        connection.sendall(
            b"HTTP/1.1 " + status + b" X\r\nContent-Type: " + content_type + b"\r\n" + extra +
            b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" +
            body[:int(len(body) * keep)])

    @staticmethod
    def _send_chunks(connection, body, *, whole):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(body), 16384):
            chunk = body[at:at + 16384]
            connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if whole:
            connection.sendall(b"0\r\n\r\n")


def json_of_size(size):
    """A JSON string of exactly `size` bytes (at least 2)."""
    return b'"' + b"x" * (size - 2) + b'"'
