#!/usr/bin/env bash
# Compares the wire with nginx, both with two workers, on this machine's loopback: a fixed 1 kB
# reply, and a forward to the same upstream (nginx in a separate process, with kept connections).
# wrk drives both; the order alternates; each cell is the median of its rounds. Prints requests/s
# and the ratio.
#   benchmarks/wire/forward_vs_nginx.sh [BUILD_DIR]     ROUNDS=3 SECONDS_EACH=3 to change
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
rounds=${ROUNDS:-3}
seconds=${SECONDS_EACH:-3}
for tool in nginx wrk; do
  command -v "$tool" >/dev/null || { echo "forward_vs_nginx: needs $tool" >&2; exit 1; }
done
work=$(mktemp -d)
pids=()
cleanup() {
  exec 9>&- || true
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

free_port() {
  python3 -c 'import socket
bound = socket.socket()
bound.bind(("127.0.0.1", 0))
print(bound.getsockname()[1])'
}
body=$(printf '{"data":"%01010d"}' 0 | tr 0 x)

start_nginx() {  # name, workers, server block
  cat >"$work/$1.conf" <<CONF
daemon off;
worker_processes $2;
worker_rlimit_nofile 16384;
pid $work/$1.pid;
error_log $work/$1.log;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path $work/$1.body;
  proxy_temp_path $work/$1.proxy;
  fastcgi_temp_path $work/$1.fastcgi;
  uwsgi_temp_path $work/$1.uwsgi;
  scgi_temp_path $work/$1.scgi;
  $3
}
CONF
  nginx -p "$work" -c "$work/$1.conf" &
  pids+=($!)
}

upstream=$(free_port)
proxy=$(free_port)
start_nginx upstream 1 "server {
    listen 127.0.0.1:$upstream reuseport backlog=4096;
    location / { default_type application/json; return 200 '$body'; }
  }"
start_nginx proxy 2 "upstream origin {
    server 127.0.0.1:$upstream;
    keepalive 512;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:$proxy reuseport backlog=4096;
    location /fixed { default_type application/json; return 200 '$body'; }
    location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ''; }
  }"

mkfifo "$work/stdin"
"$build/benchmarks/wire_server" 2 "http://127.0.0.1:$upstream" <"$work/stdin" >"$work/address" &
pids+=($!)
exec 9>"$work/stdin"
ours=""
for _ in $(seq 1 100); do
  ours=$(sed -n 's/.*"address": "\(.*\)".*/\1/p' "$work/address")
  [ -n "$ours" ] && curl -fs "http://127.0.0.1:$proxy/x" >/dev/null 2>&1 && break
  read -rt 0.05 <> <(:) || true
done
curl -fs "http://$ours/x" | cmp -s - <(curl -fs "http://127.0.0.1:$proxy/x") ||
  { echo "forward_vs_nginx: the replies differ" >&2; exit 1; }

rate() {  # connections, url
  wrk -t2 -c"$1" -d"${seconds}s" "$2" |
    awk '/Requests\/sec/ {rate = $2} /Non-2xx|Socket errors/ {bad = 1; print > "/dev/stderr"}
         END {printf "%d\n", rate; exit bad}'
}
median() { sort -n | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

printf '%-10s %12s %12s %12s %8s\n' path connections turnpike nginx ratio
for path in fixed forward; do
  for connections in 64 512; do
    : >"$work/ours"
    : >"$work/theirs"
    for round in $(seq 1 "$rounds"); do
      first=ours second=theirs
      [ $((round % 2)) -eq 0 ] && first=theirs second=ours
      for side in $first $second; do
        address=$ours
        [ $side = theirs ] && address=127.0.0.1:$proxy
        rate "$connections" "http://$address/$path" >>"$work/$side"
      done
    done
    a=$(median <"$work/ours")
    b=$(median <"$work/theirs")
    printf '%-10s %12s %12s %12s %8s\n' $path $connections "$a" "$b" \
      "$(awk -v a="$a" -v b="$b" 'BEGIN {printf "%.2fx", a / b}')"
  done
done
