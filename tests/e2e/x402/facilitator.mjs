// A facilitator made of the official SDK, on the local chain, with faults that a test can set.
// usage: facilitator.mjs --rpc=URL --chain-id=N
//   POST /verify, POST /settle, GET /supported   the protocol
//   PUT /fault    {"endpoint": "settle", "kind": "lost", "times": 1, "delay_ms": 0}; null: none
//   PUT /release  lets calls that hang continue
//   GET /calls    {"verify": N, "settle": N, "supported": N, "broadcast": N}
//   GET /reached?name=settle&count=N   answers as soon as there were that many calls
//
// Faults of any endpoint:
//   close          the connection ends before anything is done
//   hang           nothing is done until /release; then the call is handled
//   html           200 with a page
//   error          500 in plain text
//   untyped        200 with JSON that does not follow the protocol
//   refuse         the protocol's own refusal, in a 200
//   refuse_400     the same in a 400
// Faults of settle, all after the transaction was broadcast:
//   lost           the connection ends without an answer
//   hang_settled   no answer until /release
//   pending        the wait for the receipt fails: the SDK answers settlement_pending and the hash
//   no_transaction success with an empty hash
//   other_network  success on another network
//   disown         the protocol's own refusal, with an empty hash
// Faults of supported:
//   none           no kinds
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { createWalletClient, defineChain, http, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  answer, argumentsOf, bodyOf, Counters, endWithStarter, listen, ready,
} from "./loopback.mjs";

// The chain funds this key's account (chain.mjs).
const KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

const given = argumentsOf({ rpc: "", "chain-id": "84532" });
const network = `eip155:${given["chain-id"]}`;
const calls = new Counters();
const faults = {}; // by endpoint: {kind, times, delay_ms}
let releases = [];
let receiptFails = false;

const wallet = createWalletClient({
  account: privateKeyToAccount(KEY),
  chain: defineChain({
    id: Number(given["chain-id"]),
    name: "local",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [given.rpc] } },
  }),
  transport: http(given.rpc, { retryCount: 0 }),
  pollingInterval: 10,
}).extend(publicActions);

const signer = toFacilitatorEvmSigner({
  address: wallet.account.address,
  getCode: (args) => wallet.getCode(args),
  readContract: (args) => wallet.readContract({ ...args, account: wallet.account }),
  verifyTypedData: (args) => wallet.verifyTypedData(args),
  writeContract: async (args) => {
    const hash = await wallet.writeContract(args);
    calls.add("broadcast");
    return hash;
  },
  sendTransaction: (args) => wallet.sendTransaction(args),
  waitForTransactionReceipt: async (args) => {
    if (receiptFails) throw new Error("the node did not answer in time");
    return wallet.waitForTransactionReceipt(args);
  },
}, { confirmationTimeoutMs: 1000 });

const facilitator = new x402Facilitator().register(network, new ExactEvmScheme(signer));

const refusals = {
  verify: { isValid: false, invalidReason: "insufficient_funds" },
  settle: { success: false, errorReason: "insufficient_funds", transaction: "", network },
  supported: { kinds: [], extensions: [], signers: {} },
};

/** The fault of this call, if any. A fault with `times` occurs that often. */
function faultOf(endpoint) {
  const fault = faults[endpoint];
  if (!fault) return {};
  if (fault.times !== undefined && --fault.times <= 0) delete faults[endpoint];
  return fault;
}

const released = () => new Promise((resolve) => releases.push(resolve));

// There is one gas account, so parallel transactions would mix up its nonces.
let settling = Promise.resolve();

function settle(payload, requirements, kind) {
  const one = async () => {
    receiptFails = kind === "pending";
    return facilitator.settle(payload, requirements);
  };
  const result = settling.then(one);
  settling = result.catch(() => {});
  return result;
}

async function work(endpoint, request, kind) {
  if (endpoint === "supported") return facilitator.getSupported();
  const { paymentPayload, paymentRequirements } = JSON.parse(await bodyOf(request));
  if (endpoint === "verify") return facilitator.verify(paymentPayload, paymentRequirements);
  const settled = await settle(paymentPayload, paymentRequirements, kind);
  if (kind === "no_transaction") settled.transaction = "";
  if (kind === "other_network") settled.network = "eip155:1";
  if (kind === "disown") return refusals.settle;
  return settled;
}

async function protocol(endpoint, request, response) {
  const { kind = null, delay_ms: delay = 0 } = faultOf(endpoint);
  // Registered before anybody can know of this call, because a release may come before the call
  // hangs.
  const release = kind?.startsWith("hang") ? released() : null;
  calls.add(endpoint);
  if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
  if (kind === "hang") await release;
  if (kind === "close") return request.socket.destroy();
  if (kind === "html") return answer(response, 200, "<p>busy</p>", "text/html");
  if (kind === "error") return answer(response, 500, "secret internals", "text/plain");
  if (kind === "untyped") return answer(response, 200, { success: "yes", isValid: 1, kinds: {} });
  if (kind === "refuse" || kind === "none") return answer(response, 200, refusals[endpoint]);
  if (kind === "refuse_400") return answer(response, 400, refusals[endpoint]);
  const result = await work(endpoint, request, kind);
  if (kind === "hang_settled") await release;
  if (kind === "lost") return request.socket.destroy();
  answer(response, 200, result);
}

async function control(path, query, request, response) {
  if (path === "/fault") {
    const { endpoint, kind, ...rest } = JSON.parse(await bodyOf(request));
    if (kind === null && !rest.delay_ms) delete faults[endpoint];
    else faults[endpoint] = { kind, ...rest };
    answer(response, 200, {});
  } else if (path === "/release") {
    releases.splice(0).forEach((release) => release());
    answer(response, 200, {});
  } else if (path === "/calls") {
    answer(response, 200, { verify: 0, settle: 0, supported: 0, broadcast: 0, ...calls.counts });
  } else if (path === "/reached") {
    await calls.reached(query.get("name"), Number(query.get("count")));
    answer(response, 200, {});
  } else {
    answer(response, 404, { error: "no such path" });
  }
}

endWithStarter();
const url = await listen(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://loopback");
  const endpoint = /^\/(verify|settle|supported)$/.exec(pathname)?.[1];
  try {
    await (endpoint ? protocol(endpoint, request, response)
      : control(pathname, searchParams, request, response));
  } catch (error) {
    // The SDK throws on requests that it does not understand.
    answer(response, 400, { error: error.message });
  }
});
ready({ url });
