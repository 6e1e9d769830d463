// Shared by all parts here: an HTTP server on a free loopback port, one JSON line when it is ready,
// and an exit when standard input closes, however the starter ended.
import { webcrypto } from "node:crypto";
import { createServer } from "node:http";

globalThis.crypto ??= webcrypto; // Debian 12's Node lacks this global, which the SDK uses

export function argumentsOf(defaults) {
  const given = { ...defaults };
  for (const text of process.argv.slice(2)) {
    const [, name, value] = /^--([a-z-]+)=(.*)$/s.exec(text) ?? [];
    if (!(name in defaults)) throw new Error(`unknown argument ${text}`);
    given[name] = value;
  }
  return given;
}

export function endWithStarter() {
  process.stdin.on("end", () => process.exit(0)).resume();
}

/** Serves `handle(request, response)` (or an Express application) and returns the URL. */
export function listen(handle) {
  const server = createServer(handle);
  server.keepAliveTimeout = 600_000;
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", 4096, () =>
      resolve(`http://127.0.0.1:${server.address().port}`));
  });
}

export function ready(described) {
  console.log(JSON.stringify({ event: "ready", ...described }));
}

export async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

export function answer(response, status, value, contentType = "application/json") {
  const text = contentType === "application/json" ? JSON.stringify(value) : value;
  response.writeHead(status, {
    "content-type": contentType,
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

/** Counts, and lets others wait for a count without polling. */
export class Counters {
  counts = {};
  waiting = [];

  add(name) {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    this.waiting = this.waiting.filter(({ name: of, count, resolve }) => {
      if (this.of(of) < count) return true;
      resolve();
      return false;
    });
  }

  of(name) {
    return this.counts[name] ?? 0;
  }

  reached(name, count) {
    if (this.of(name) >= count) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ name, count, resolve }));
  }
}
