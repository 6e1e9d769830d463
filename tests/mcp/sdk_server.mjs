// The official server, as a baseline for speed and as a known good subject of the suite: Streamable
// HTTP, stateless, JSON answers. To be as fast as possible, it uses the SDK's low-level class,
// which validates least, and makes the validator once instead of for every request.
// usage: sdk_server.mjs --sdk=1|2 [--tools=FILE] [--upstream=URL] [--processes=1]
//   FILE: the tools to list, as JSON; each may be called and gives the same small result, or what
//   is at the URL
import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import {
  localhostHostValidation, localhostOriginValidation, toNodeHandler,
} from "@modelcontextprotocol/node";
import { Server as ServerV1 } from "@modelcontextprotocol/sdk/server/index.js";
import {
  StreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  AjvJsonSchemaValidator as ValidatorV1,
} from "@modelcontextprotocol/sdk/validation/ajv";
import { createMcpHandler, Server as ServerV2 } from "@modelcontextprotocol/server";
import {
  AjvJsonSchemaValidator as ValidatorV2,
} from "@modelcontextprotocol/server/validators/ajv";
import { argumentsOf, endWithStarter } from "./parts.mjs";

const given = argumentsOf({ sdk: "2", tools: "", upstream: "", processes: "1" });
const info = { name: "official-sdk", version: "1.0.0" };
const options = {
  capabilities: { tools: {} },
  jsonSchemaValidator: given.sdk === "1" ? new ValidatorV1() : new ValidatorV2(),
};

const tools = given.tools ? JSON.parse(readFileSync(given.tools, "utf8")) : [{
  name: "item",
  description: "Gives one item.",
  inputSchema: { type: "object", additionalProperties: false },
}];
const resultOf = (body) => {
  const structuredContent = { status: "executed", body };
  return {
    content: [{ type: "text", text: JSON.stringify(structuredContent) }],
    structuredContent,
  };
};
const fixed = resultOf({ data: "x".repeat(100) });
const call = given.upstream
  ? async () => resultOf(await (await fetch(given.upstream)).json())
  : () => fixed;

/** As in the SDK's stateless example: a server and a transport for every request. */
async function answerV1(request, response) {
  const server = new ServerV1(info, options);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, call);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined, enableJsonResponse: true,
  });
  response.on("close", () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

const answerV2 = toNodeHandler(createMcpHandler(() => {
  const server = new ServerV2(info, options);
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", call);
  return server;
}));

const isOurHost = localhostHostValidation();
const isOurOrigin = localhostOriginValidation();
const answer = given.sdk === "1" ? answerV1 : answerV2;

function serve() {
  const server = createServer((request, response) => {
    if (isOurHost(request, response) && isOurOrigin(request, response)) answer(request, response);
  });
  server.keepAliveTimeout = 600_000;
  return new Promise((resolve) => server.listen(0, "127.0.0.1", 4096, () =>
    resolve(`http://127.0.0.1:${server.address().port}/`)));
}

endWithStarter();
const ready = (url) => console.log(JSON.stringify({ event: "ready", url }));
if (cluster.isWorker) {
  process.send(await serve());
} else if (given.processes === "1") {
  ready(await serve());
} else {
  // The processes share the port that the first of them was given.
  const urls = await Promise.all(Array.from({ length: Number(given.processes) }, () =>
    new Promise((resolve) => cluster.fork().once("message", resolve))));
  ready(urls[0]);
}
