// A certified OpenID provider (npm oidc-provider) on loopback, whose users agree to everything.
// usage: provider.mjs
// It prints {"event": "ready", "issuer"} at once. The first line on standard input is JSON,
// {"clients": [client metadata]}; all requests wait for it. PUT /account {"account": "ann"} sets
// the account that signs in from then on; "nobody" declines. The account's name decides its claims:
// "other..." has an address in another domain, and the address of "unverified..." is not verified.
// The process ends when standard input ends.
import {generateKeyPairSync} from "node:crypto";
import {once} from "node:events";
import {createServer} from "node:http";
import {createInterface} from "node:readline";
import {Provider} from "oidc-provider";

const claimsOf = (account) => ({
  sub: account,
  name: account[0].toUpperCase() + account.slice(1),
  email: account + (account.startsWith("other") ? "@other.example" : "@acme.example"),
  email_verified: !account.startsWith("unverified"),
});

function signingKeys() {
  const rsa = () => generateKeyPairSync("rsa", {modulusLength: 2048}).privateKey;
  const point = generateKeyPairSync("ec", {namedCurve: "P-256"}).privateKey;
  return [[rsa(), "RS256"], [rsa(), "PS256"], [point, "ES256"]].map(([key, alg]) =>
    ({...key.export({format: "jwk"}), alg, use: "sig", kid: `key of ${alg}`}));
}

let account = "ann";
let handle;
let isReady;
const ready = new Promise((resolve) => { isReady = resolve; });

const server = createServer(async (request, response) => {
  await ready;
  handle(request, response);
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;
console.log(JSON.stringify({event: "ready", issuer}));

const lines = createInterface({input: process.stdin});
lines.on("close", () => process.exit(0));
const {clients} = JSON.parse((await once(lines, "line"))[0]);

const provider = new Provider(issuer, {
  clients,
  jwks: {keys: signingKeys()},
  cookies: {keys: ["one that signs the cookies of a test"]},
  claims: {email: ["email", "email_verified"], profile: ["name"]},
  conformIdTokenClaims: false,  // as most providers do: the ID token has the scopes' claims
  enabledJWA: {idTokenSigningAlgValues: ["RS256", "PS256", "ES256"]},
  features: {devInteractions: {enabled: false}},
  findAccount: (_, id) => ({accountId: id, claims: () => claimsOf(id)}),
  interactions: {url: (_, interaction) => `/interaction/${interaction.uid}`},
  pkce: {required: () => true},
});
provider.on("server_error", (_, error) => console.error(error));

async function agree(request, response) {
  const {prompt, params, session} = await provider.interactionDetails(request, response);
  if (account === "nobody") {
    return provider.interactionFinished(request, response, {error: "access_denied"});
  }
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, {login: {accountId: account}});
  }
  const grant = new provider.Grant({accountId: session.accountId, clientId: params.client_id});
  grant.addOIDCScope("openid profile email");
  const grantId = await grant.save();
  return provider.interactionFinished(request, response, {consent: {grantId}},
    {mergeWithLastSubmission: true});
}

const answer = provider.callback();
handle = async (request, response) => {
  if (request.method === "PUT" && request.url === "/account") {
    let text = "";
    for await (const chunk of request) text += chunk;
    account = JSON.parse(text).account;
    return response.end();
  }
  if (!request.url.startsWith("/interaction/")) return answer(request, response);
  try {
    await agree(request, response);
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
};
isReady();
