// An official client, commanded by JSON lines (parts.mjs).
// usage: client.mjs --sdk=1|2 [--era=legacy|auto|modern] [--payer=0x...]
//   the era is a choice of SDK 2; a payer is the key of an account that pays where it is asked to
//
//   {"do": "connect", "url", "headers"}     {version, era, server, capabilities, instructions}
//   {"do": "tools" | "resources" | "templates" | "prompts"}     every page: their entries
//   {"do": "call", "name", "arguments", "meta"}
//   {"do": "begin", "name", "arguments", "timeout", "progress"}     a call that is not waited for;
//       a `timeout` in ms begins anew with each progress; `progress`: ask for it
//   {"do": "progress", "count"}     what it has told, once there are so many
//   {"do": "abort"}     give it up, as its user does     {"do": "end"}     what it came to
//   {"do": "read", "uri"}     {"do": "prompt", "name", "arguments"}     {"do": "ping"}
//   {"do": "close"}
//
// What is done is the SDK's own result, checked by it against the schemas of the protocol and, once
// tools were listed, against the tool's output schema.
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StreamableHTTPClientTransport as TransportV1,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  Client as ClientV2, StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { withX402Client } from "agents/x402";
import { privateKeyToAccount } from "viem/accounts";
import { argumentsOf, obey } from "./parts.mjs";

const given = argumentsOf({ sdk: "2", era: "legacy", payer: "" });
const info = { name: "turnpike-tests", version: "1.0.0" };
const modes = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };

let client, transport;
let begun;  // {call, controller, told, onTold}

/** All pages of a list: SDK 2 walks them itself when it is given no cursor. */
async function all(list, member) {
  const entries = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? undefined : { cursor });
    entries.push(...page[member]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return entries;
}

await obey({
  async connect({ url, headers = {} }) {
    const isFirst = given.sdk === "1";
    const Transport = isFirst ? TransportV1 : TransportV2;
    transport = new Transport(new URL(url), { requestInit: { headers } });
    client = isFirst
      ? new ClientV1(info)
      : new ClientV2(info, { versionNegotiation: { mode: modes[given.era] } });
    if (given.payer) {  // Cloudflare's client; that of the x402 project is in no registry
      const account = privateKeyToAccount(given.payer);
      client = withX402Client(client, { account, network: "eip155:84532" });
    }
    await client.connect(transport);
    return {
      version: isFirst ? transport.protocolVersion : client.getNegotiatedProtocolVersion(),
      era: isFirst ? "legacy" : client.getProtocolEra(),
      session: transport.sessionId ?? null,
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  },
  tools: () => all((page) => client.listTools(page), "tools"),
  resources: () => all((page) => client.listResources(page), "resources"),
  templates: () => all((page) => client.listResourceTemplates(page), "resourceTemplates"),
  prompts: () => all((page) => client.listPrompts(page), "prompts"),
  call: ({ name, arguments: values, meta }) => {
    const params = { name, arguments: values, ...(meta && { _meta: meta }) };
    return given.payer ? client.callTool(null, params) : client.callTool(params);
  },
  begin: ({ name, arguments: values, timeout, progress }) => {
    const controller = new AbortController();
    begun = { controller, told: [], onTold: () => {} };
    const mine = begun;
    const options = {
      signal: controller.signal,
      ...(timeout && { timeout, resetTimeoutOnProgress: true }),
      ...(progress && { onprogress: (one) => { mine.told.push(one); mine.onTold(); } }),
    };
    const params = { name, arguments: values };
    begun.call = given.sdk === "1"
      ? client.callTool(params, undefined, options)
      : client.callTool(params, options);
    begun.call.catch(() => {});  // `end` tells
  },
  progress: async ({ count }) => {
    while (begun.told.length < count) await new Promise((done) => { begun.onTold = done; });
    return begun.told;
  },
  abort: () => begun.controller.abort(),
  end: () => begun.call,
  read: ({ uri }) => client.readResource({ uri }),
  prompt: ({ name, arguments: values }) => client.getPrompt({ name, arguments: values }),
  ping: () => client.ping(),
  close: () => client.close(),
});
