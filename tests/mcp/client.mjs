// An official client, driven by JSON lines (parts.mjs).
// usage: client.mjs --sdk=1|2 [--era=legacy|auto|modern] [--payer=0x...]
// Only SDK 2 has a choice of era. The payer is the key of an account that pays when asked to.
//
//   {"do": "connect", "url", "headers"}     {version, era, server, capabilities, instructions}
//       as a new client; one that was connected before is closed
//       with "person": {cookie, csrf, account}, who agrees on the consent page when the client
//       asks for access by OAuth
//   {"do": "tools" | "resources" | "templates" | "prompts"}     the entries of all pages
//   {"do": "call", "name", "arguments", "meta"}
//   {"do": "begin", "name", "arguments", "timeout", "progress"}     a call that is not waited for;
//       a `timeout` in ms restarts with each progress; `progress`: ask for progress
//   {"do": "progress", "count"}     the progress so far, once there are `count` entries
//   {"do": "abort"}     aborts the call, as a user does     {"do": "end"}     the call's result
//   {"do": "read", "uri"}     {"do": "prompt", "name", "arguments"}     {"do": "ping"}
//   {"do": "close"}
//
// A result is the SDK's own. The SDK checks it against the schemas of the protocol and, once tools
// were listed, against the tool's output schema.
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
let provider;  // for OAuth, if there is a person to ask

/** What the SDKs need from a program that signs in; it also acts as the person's browser. */
function providerFor({ cookie, csrf, account }) {
  const kept = {};
  const redirectUrl = "http://localhost:51999/callback";
  return {
    kept,
    redirectUrl,
    clientMetadata: {
      client_name: "official client", redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none", response_types: ["code"],
      grant_types: ["authorization_code", "refresh_token"],
    },
    state: () => "state of the client",
    clientInformation: () => kept.client,
    saveClientInformation: (value) => { kept.client = value; },
    tokens: () => kept.tokens,
    saveTokens: (value) => { kept.tokens = value; },
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (value) => { kept.discovery = value; },
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (value) => { kept.verifier = value; },
    async redirectToAuthorization(url) {
      const sent = await fetch(url, { redirect: "manual" });
      const page = new URL(sent.headers.get("location"));
      const decided = await fetch(page.origin + page.pathname, {
        method: "POST",
        redirect: "manual",
        headers: { Cookie: cookie, Origin: page.origin },
        body: new URLSearchParams({
          csrf, account, decision: "approve", request: page.searchParams.get("request"),
        }),
      });
      kept.answer = new URL(decided.headers.get("location")).searchParams;
    },
  };
}

/** Runs `work`. If the server requires a sign-in and a person gave it, runs `work` again. */
async function signedIn(work) {
  try {
    return await work();
  } catch (error) {
    if (!provider?.kept.answer) throw error;
    const { answer } = provider.kept;
    delete provider.kept.answer;
    await transport.finishAuth(given.sdk === "1" ? answer.get("code") : answer);
    return work();
  }
}
let begun;  // {call, controller, told, onTold}

/** All pages of a list. SDK 2 fetches them itself when it is given no cursor. */
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
  async connect({ url, headers = {}, person }) {
    await client?.close();
    const isFirst = given.sdk === "1";
    const Transport = isFirst ? TransportV1 : TransportV2;
    provider = person && providerFor(person);
    transport = new Transport(new URL(url), { requestInit: { headers }, authProvider: provider });
    client = isFirst
      ? new ClientV1(info)
      : new ClientV2(info, { versionNegotiation: { mode: modes[given.era] } });
    if (given.payer) {  // Cloudflare's client; no registry has the x402 project's
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
    return signedIn(() => given.payer ? client.callTool(null, params) : client.callTool(params));
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
    begun.call.catch(() => {});  // `end` reports the error
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
