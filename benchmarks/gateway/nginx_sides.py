"""nginx as a side of a comparison: alone, and with Lua code that does in memory what the `:free`
variant of a route does. It recognises a key, counts a window, limits the calls in flight, and
reports what is left.
"""

import pathlib
import subprocess
import tempfile

MODULES = pathlib.Path("/usr/lib/nginx/modules")

# The fields of the gateway's log line, except those that nginx does not know.
LOG_FORMAT = """
log_format calls escape=json '{"time":"$time_iso8601","severity":"info","event":"access",'
  '"request_id":"$request_id","client_request_id":"$http_x_request_id",'
  '"peer":"$remote_addr:$remote_port","method":"$request_method","path":"$uri","rpc":"",'
  '"route":"$proxy_host","lane":"free","status":$status,"error":"","credits_charged":0,'
  '"request_bytes":$request_length,"reply_bytes":$body_bytes_sent,"total_us":"$request_time",'
  '"upstream_us":"$upstream_response_time","whole":"$request_completion"}';
"""

LUA_START = """
lua_shared_dict counts 64m;
init_by_lua_block {
  accounts = {}
  local number = 0
  for key in io.lines("%s") do
    number = number + 1
    accounts[key] = "account-" .. number
  end
}
"""

LUA_LOCATION = """
access_by_lua_block {
  local given = ngx.var.http_authorization
  local account = given and given:sub(1, 7) == "Bearer " and accounts[given:sub(8)]
  if not account then
    ngx.header["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    return ngx.exit(401)
  end
  local counts, seconds, limit = ngx.shared.counts, 86400, 2000000000
  local now = ngx.now()
  local window = math.floor(now / seconds)
  local granted = counts:incr(account .. "/" .. window, 1, 0, 2 * seconds)
  if not granted or granted > limit then return ngx.exit(429) end
  local running = counts:incr(account .. "/running", 1, 0)
  if not running then return ngx.exit(503) end
  ngx.ctx.account = account
  if running > 100000 then return ngx.exit(429) end
  ngx.ctx.left = limit - granted
  ngx.ctx.ends = math.ceil((window + 1) * seconds - now)
}
header_filter_by_lua_block {
  if ngx.ctx.left then
    ngx.header["RateLimit-Policy"] = '"window";q=2000000000;w=86400'
    ngx.header["RateLimit"] = string.format('"window";r=%d;t=%d', ngx.ctx.left, ngx.ctx.ends)
  end
}
log_by_lua_block {
  if ngx.ctx.account then ngx.shared.counts:incr(ngx.ctx.account .. "/running", -1) end
}
proxy_set_header Authorization '';
"""


class Nginx:
    """`server` is the content of its `http` block. With `logs`, it writes a line for each request
    to the file `log`, 64 kB at a time."""

    def __init__(self, workers, server, logs=False, main=""):
        self.directory = tempfile.TemporaryDirectory(prefix="turnpike-nginx-")
        base = self.directory.name
        self.log = pathlib.Path(base, "access.log")
        access_log = f"{LOG_FORMAT} access_log {self.log} calls buffer=64k flush=1s;"
        temporary = "\n".join(f"{kind}_temp_path {base}/{kind};" for kind in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        pathlib.Path(base, "conf").write_text(
            f"{main}\ndaemon off; worker_processes {workers}; worker_rlimit_nofile 16384;\n"
            f"pid {base}/pid; error_log {base}/log;\nevents {{ worker_connections 8192; }}\n"
            f"http {{ {access_log if logs else 'access_log off;'} keepalive_requests 100000000;"
            f" {temporary}\n{server} }}\n")
        self.process = subprocess.Popen(["nginx", "-p", base, "-c", f"{base}/conf"])

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()


def upstream(port, body):
    return Nginx(1, f"server {{ listen 127.0.0.1:{port} reuseport backlog=4096;\n"
                    f"location / {{ default_type application/json; return 200 '{body}'; }} }}")


def proxy(port, upstream_port, *, start="", location="", main=""):
    return Nginx(2, f"{start} upstream origin {{ server 127.0.0.1:{upstream_port}; keepalive 512;"
                    " keepalive_requests 100000000; }\n"
                    f"server {{ listen 127.0.0.1:{port} reuseport backlog=4096;\n"
                    "location / { proxy_pass http://origin; proxy_http_version 1.1;"
                    f" proxy_set_header Connection ''; {location} }} }}", logs=True, main=main)


def proxy_with_lua(port, upstream_port, directory, keys):
    """A proxy with the Lua code, for the holders of these keys."""
    known = pathlib.Path(directory, "keys")
    known.write_text("".join(key + "\n" for key in keys))
    modules = "".join(f"load_module {MODULES / name};" for name in (
        "ndk_http_module.so", "ngx_http_lua_module.so"))
    return proxy(port, upstream_port, start=LUA_START % known, location=LUA_LOCATION, main=modules)
