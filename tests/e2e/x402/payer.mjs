// The official client with one account, driven by JSON lines: one command in, one reply out.
// usage: payer.mjs --key=0x... [--wallet=0x...] [--most=$5]
// The wallet is a contract whose owner has the key; `most` is the limit for one payment.
//
//   {"do": "fetch", "url", "method", "headers", "body"}    as @x402/fetch does: pays if it is asked
//   {"do": "fetch_without_echo", ...}                      as @faremeter/fetch: sends no extensions
//   {"do": "get", ...}                                     the same without paying
//   {"do": "sign", "challenge"}                            PAYMENT-SIGNATURE for a PAYMENT-REQUIRED
//   {"do": "sign_many", "challenge", "count", "file"}      that many, one a line, valid for an hour
//   {"do": "send", ..., "payment", "times"}                one header, `times` at once: {replies}
//   {"do": "calldata", "payment", "of": "transfer" | "cancel"}   what anyone may send to the token
//   {"do": "verify_offers", "challenge"}                   their payloads, keys taken from did:web
//   {"do": "verify_receipt", "response", "challenge"}      its payload; does it fit the offer?
//
// `challenge`, `payment` and `response` are header values as they were sent. A reply is {status,
// headers, body, payment (the header that was sent), required, settled (the decoded headers)}.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { x402Client, x402HTTPClient } from "@x402/core/client";
import {
  decodePaymentRequiredHeader, decodePaymentResponseHeader, decodePaymentSignatureHeader,
} from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import {
  decodeSignedOffers, extractOffersFromPaymentRequired, verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer, verifyReceiptSignatureJWS,
} from "@x402/extensions/offer-receipt";
import { wrapFetchWithPayment } from "@x402/fetch";
import {
  concat, encodeAbiParameters, encodeFunctionData, hashDomain, keccak256, parseAbi,
  parseAbiParameters, toHex,
} from "viem";
import { privateKeyToAccount, sign } from "viem/accounts";
import { argumentsOf } from "./loopback.mjs";

const given = argumentsOf({ key: "", wallet: "", most: "" });
const owner = privateKeyToAccount(given.key);
const signer = given.wallet
  ? {
      address: given.wallet,
      signTypedData: async (data) => concat(["0x01", await owner.signTypedData(data)]),
    }
  : owner;
const client = new x402Client().register("eip155:*", new ExactEvmScheme(signer));
if (given.most) client.setSpendControls({ maxAmountPerPayment: given.most });
const http = new x402HTTPClient(client);

// Both accounts and contract wallets can pass a signature as bytes.
const token = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, " +
    "uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
  "function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)",
]);

async function shown(response, payment = null) {
  const decoded = (name, decode) => {
    const value = response.headers.get(name);
    return value === null ? null : decode(value);
  };
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
    payment,
    required: decoded("payment-required", decodePaymentRequiredHeader),
    settled: decoded("payment-response", decodePaymentResponseHeader),
  };
}

function requestOf({ method = "GET", headers = {}, body }, payment) {
  return {
    method,
    headers: { ...headers, ...(payment && { "PAYMENT-SIGNATURE": payment }) },
    body,
    redirect: "manual",
  };
}

const transferType = "TransferWithAuthorization(address from,address to,uint256 value," +
  "uint256 validAfter,uint256 validBefore,bytes32 nonce)";

/** Signs as the client does, with a fresh nonce for each; the common part is hashed once. */
async function signMany({ challenge, count, file }) {
  const model = await client.createPaymentPayload(decodePaymentRequiredHeader(challenge));
  const { accepted } = model;
  const domain = hashDomain({
    domain: {
      name: accepted.extra.name, version: accepted.extra.version,
      chainId: BigInt(accepted.network.split(":")[1]), verifyingContract: accepted.asset,
    },
    types: {
      EIP712Domain: [
        { name: "name", type: "string" },
        { name: "version", type: "string" },
        { name: "chainId", type: "uint256" },
        { name: "verifyingContract", type: "address" },
      ],
    },
  });
  const authorization = {
    ...model.payload.authorization, validBefore: String(Math.floor(Date.now() / 1000) + 3600),
  };
  const { from, to, value, validAfter, validBefore } = authorization;
  const head = encodeAbiParameters(
    parseAbiParameters("bytes32, address, address, uint256, uint256, uint256"),
    [keccak256(toHex(transferType)), from, to, value, validAfter, validBefore]);
  const lines = [];
  while (lines.length < count) {
    const nonce = toHex(randomBytes(32));
    const hash = keccak256(concat(["0x1901", domain, keccak256(concat([head, nonce]))]));
    const signature = await sign({ hash, privateKey: given.key, to: "hex" });
    const payload = { authorization: { ...authorization, nonce }, signature };
    lines.push(http.encodePaymentSignatureHeader({ ...model, payload })["PAYMENT-SIGNATURE"]);
  }
  writeFileSync(file, lines.join("\n") + "\n");
  return {};
}

async function calldata({ payment, of }) {
  const { accepted, payload } = decodePaymentSignatureHeader(payment);
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization;
  if (of === "transfer") {
    const args = [from, to, value, validAfter, validBefore, nonce, payload.signature];
    return encodeFunctionData({ abi: token, functionName: "transferWithAuthorization", args });
  }
  const signature = await signer.signTypedData({
    domain: {
      name: accepted.extra.name, version: accepted.extra.version,
      chainId: Number(accepted.network.split(":")[1]), verifyingContract: accepted.asset,
    },
    types: {
      CancelAuthorization: [
        { name: "authorizer", type: "address" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "CancelAuthorization",
    message: { authorizer: from, nonce },
  });
  return encodeFunctionData({
    abi: token, functionName: "cancelAuthorization", args: [from, nonce, signature],
  });
}

/** A client by another vendor, which sends no extensions. */
async function fetchWithoutEcho(command) {
  const { wrap } = await import("@faremeter/fetch");
  const { createPaymentHandler } = await import("@faremeter/payment-evm/exact");
  let payment = null;
  const keep = (url, init) => {
    payment = new Headers(init?.headers).get("PAYMENT-SIGNATURE") ?? payment;
    return fetch(url, init);
  };
  const wallet = { chain: { id: 84532, name: "local" }, address: owner.address, account: owner };
  const handlers = [createPaymentHandler(wallet)];
  const paying = wrap(keep, { handlers, returnPaymentFailure: true });
  return shown(await paying(command.url, requestOf(command)), payment);
}

const commands = {
  fetch: async (command) => {
    let payment = null;
    const paying = wrapFetchWithPayment((request) => {
      payment = request.headers.get("PAYMENT-SIGNATURE");
      return fetch(request);
    }, http);
    return shown(await paying(command.url, requestOf(command)), payment);
  },
  fetch_without_echo: fetchWithoutEcho,
  get: async (command) => shown(await fetch(command.url, requestOf(command))),
  sign: async ({ challenge }) => {
    const payload = await client.createPaymentPayload(decodePaymentRequiredHeader(challenge));
    return { payment: http.encodePaymentSignatureHeader(payload)["PAYMENT-SIGNATURE"] };
  },
  sign_many: signMany,
  send: async (command) => ({
    replies: await Promise.all(Array.from({ length: command.times ?? 1 }, async () =>
      shown(await fetch(command.url, requestOf(command, command.payment)), command.payment))),
  }),
  calldata: async (command) => ({ data: await calldata(command) }),
  verify_offers: async ({ challenge }) => ({
    offers: await Promise.all(
      extractOffersFromPaymentRequired(decodePaymentRequiredHeader(challenge))
        .map((offer) => verifyOfferSignatureJWS(offer))),
  }),
  verify_receipt: async ({ response, challenge }) => {
    const { receipt } = decodePaymentResponseHeader(response).extensions["offer-receipt"].info;
    const [offer] = decodeSignedOffers(
      extractOffersFromPaymentRequired(decodePaymentRequiredHeader(challenge)));
    return {
      receipt: await verifyReceiptSignatureJWS(receipt),
      fits: verifyReceiptMatchesOffer(receipt, offer, [signer.address]),
    };
  },
};

console.log(JSON.stringify({ event: "ready", address: signer.address }));
for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...command } = JSON.parse(line);
  let reply;
  try {
    reply = await commands[name](command);
  } catch (error) {
    reply = { failed: String(error.cause ?? error.message) };
  }
  console.log(JSON.stringify(reply));
}
