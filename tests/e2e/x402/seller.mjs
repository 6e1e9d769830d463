// The official Express middleware as a seller: it proves the other parts, and it is what the
// gateway is measured against. Offers and receipts are signed with ES256K; did.json is beside them.
// usage: seller.mjs --facilitator=URL --pay-to=0x... [--network=eip155:84532] [--price=1000]
//   GET /paid, /other   200 and a fixed body, for the price
//   GET /upfront        the same, settled first
//   GET /fails          500 from the handler
//   GET /served         how often a handler ran, free
import { generateKeyPairSync, sign } from "node:crypto";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import {
  createJWSOfferReceiptIssuer, createOfferReceiptExtension, declareOfferReceiptExtension,
} from "@x402/extensions/offer-receipt";
import express from "express";
import { argumentsOf, endWithStarter, listen, ready } from "./loopback.mjs";

const given = argumentsOf({
  facilitator: "", "pay-to": "", network: "eip155:84532", price: "1000",
  token: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
});

const app = express();
const url = await listen(app);
const did = `did:web:${new URL(url).host.replace(":", "%3A")}`;
const kid = `${did}#offers`;
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "secp256k1" });

const issuer = createJWSOfferReceiptIssuer(kid, {
  kid,
  format: "jws",
  algorithm: "ES256K",
  sign: async (bytes) =>
    sign("sha256", bytes, { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url"),
});

const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: given.facilitator }))
  .register(given.network, new ExactEvmScheme())
  .registerExtension(createOfferReceiptExtension(issuer));

const route = (extra = {}) => ({
  accepts: {
    scheme: "exact",
    network: given.network,
    payTo: given["pay-to"],
    price: {
      amount: given.price, asset: given.token, extra: { name: "USDC", version: "2", ...extra },
    },
  },
  description: "Test data",
  mimeType: "application/json",
  extensions: declareOfferReceiptExtension(),
});

let served = 0;
const body = { data: "x".repeat(100) };
const serveBody = (request, response) => {
  served += 1;
  response.json(body);
};

app.set("x-powered-by", false);
app.get("/served", (request, response) => response.json({ served }));
app.get("/.well-known/did.json", (request, response) => response.json({
  "@context": ["https://www.w3.org/ns/did/v1"],
  id: did,
  verificationMethod: [{
    id: kid,
    type: "JsonWebKey2020",
    controller: did,
    publicKeyJwk: publicKey.export({ format: "jwk" }),
  }],
  assertionMethod: [kid],
}));
app.use(paymentMiddleware({
  "GET /paid": route(),
  "GET /other": route(),
  "GET /fails": route(),
  "GET /upfront": route({ paymentFlow: "upfront" }),
}, server));
app.get(["/paid", "/other", "/upfront"], serveBody);
app.get("/fails", (request, response) => {
  served += 1;
  response.status(500).json({ error: "the handler failed" });
});

endWithStarter();
ready({ url });
