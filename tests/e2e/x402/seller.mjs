// The official Express middleware as a seller. It checks the other parts, and benchmarks compare
// the gateway with it. Offers and receipts are signed with ES256K; did.json is served beside them.
// usage: seller.mjs --facilitator=URL --pay-to=0x... [--price=1000] [--processes=1]
//   GET /paid, /other   200 and a fixed body of 1 kB, for the price
//   GET /upfront        the same, settled first
//   GET /fails          500 from the handler
//   GET /served         how often a handler of one process ran, free
import cluster from "node:cluster";
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import {
  createJWSOfferReceiptIssuer, createOfferReceiptExtension, declareOfferReceiptExtension,
} from "@x402/extensions/offer-receipt";
import express from "express";
import { argumentsOf, endWithStarter, listen, ready } from "./loopback.mjs";

const NETWORK = "eip155:84532";
const TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

const given = argumentsOf({ facilitator: "", "pay-to": "", price: "1000", processes: "1" });

function routes() {
  const route = (extra = {}) => ({
    accepts: {
      scheme: "exact",
      network: NETWORK,
      payTo: given["pay-to"],
      price: { amount: given.price, asset: TOKEN, extra: { name: "USDC", version: "2", ...extra } },
    },
    description: "Test data",
    mimeType: "application/json",
    extensions: declareOfferReceiptExtension(),
  });
  return {
    "GET /paid": route(),
    "GET /other": route(),
    "GET /fails": route(),
    "GET /upfront": route({ paymentFlow: "upfront" }),
  };
}

function didDocument(did, kid, publicKey) {
  return {
    "@context": ["https://www.w3.org/ns/did/v1"],
    id: did,
    verificationMethod: [{
      id: kid,
      type: "JsonWebKey2020",
      controller: did,
      publicKeyJwk: publicKey.export({ format: "jwk" }),
    }],
    assertionMethod: [kid],
  };
}

/** The URL of a seller that signs with `privateKey`. */
async function sell(privateKey) {
  const app = express().disable("x-powered-by");
  const url = await listen(app);
  const did = `did:web:${new URL(url).host.replace(":", "%3A")}`;
  const kid = `${did}#offers`;
  const issuer = createJWSOfferReceiptIssuer(kid, {
    kid,
    format: "jws",
    algorithm: "ES256K",
    sign: async (bytes) =>
      sign("sha256", bytes, { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url"),
  });
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: given.facilitator }))
    .register(NETWORK, new ExactEvmScheme())
    .registerExtension(createOfferReceiptExtension(issuer));

  let served = 0;
  const body = { data: "x".repeat(1010) };
  app.get("/served", (request, response) => response.json({ served }));
  app.get("/.well-known/did.json", (request, response) =>
    response.json(didDocument(did, kid, createPublicKey(privateKey))));
  app.use(paymentMiddleware(routes(), server));
  app.get(["/paid", "/other", "/upfront"], (request, response) => {
    served += 1;
    response.json(body);
  });
  app.get("/fails", (request, response) => {
    served += 1;
    response.status(500).json({ error: "the handler failed" });
  });
  return url;
}

endWithStarter();
const newKey = () => generateKeyPairSync("ec", {
  namedCurve: "secp256k1", privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
}).privateKey;

if (cluster.isWorker) {
  process.send(await sell(createPrivateKey(process.env.SELLER_KEY)));
} else if (given.processes === "1") {
  ready({ url: await sell(createPrivateKey(newKey())) });
} else {
  // The processes share the port that the first of them was given.
  const SELLER_KEY = newKey();
  const urls = await Promise.all(Array.from({ length: Number(given.processes) }, () =>
    new Promise((resolve) => cluster.fork({ SELLER_KEY }).once("message", resolve))));
  ready({ url: urls[0] });
}
