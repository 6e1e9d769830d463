// OAuth clients that others wrote, against an authorization server; driven by JSON lines
// (../mcp/parts.mjs). Every command has {"url": issuer, "person"?}. The person is {cookie, csrf,
// account} and decides on the gateway's consent page; without a person the server decides by itself
// (oracle_server.mjs).
//
//   {"do": "flow", "library": "oauth4webapi" | "badgateway", ...}     registration to revocation:
//       {nobody, type, lifetime, access, refreshed, afterwards}
//   {"do": "battery", ...}     the server's answers to right and wrong requests: {name: outcome}
import * as lib from "oauth4webapi";
import { OAuth2Client, generateCodeVerifier } from "@badgateway/oauth2-client";
import { obey } from "../mcp/parts.mjs";

const redirectUri = "http://127.0.0.1:51999/callback";
const scope = "call";  // oracle_server.mjs needs one; the gateway ignores it
const insecure = { [lib.allowInsecureRequests]: true };  // HTTP, on loopback
const metadata = {
  application_type: "native", client_name: "judge", redirect_uris: [redirectUri],
  token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
};

async function discover(url) {
  const issuer = new URL(url);
  const found = await lib.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const server = await lib.processDiscoveryResponse(issuer, found);
  if (server.issuer !== url) throw new Error(`the issuer is ${server.issuer}, not ${url}`);
  return server;
}

async function register(server) {
  const answer = await lib.dynamicClientRegistrationRequest(server, metadata, insecure);
  return lib.processDynamicClientRegistrationResponse(answer);
}

/** Follows a URL as a browser does, until it leads back to the client or to a page. */
async function browse(url, person, decision = "approve") {
  const cookies = new Map();
  let next = url;
  for (let hop = 0; hop < 12; ++hop) {
    const sent = await fetch(next, {
      redirect: "manual",
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
    });
    for (const cookie of sent.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      cookies.set(name, value);
    }
    if (sent.status >= 400) return { page: sent.status };
    next = new URL(sent.headers.get("location"), next);
    if (next.href.startsWith(redirectUri)) return { back: next };
    if (person && next.pathname === "/oauth/consent") return consent(next, person, decision);
  }
  throw new Error("the redirects do not end");
}

async function consent(page, { cookie, csrf, account }, decision) {
  const decided = await fetch(page.origin + page.pathname, {
    method: "POST",
    redirect: "manual",
    headers: { Cookie: cookie, Origin: page.origin },
    body: new URLSearchParams({
      csrf, account, decision, request: page.searchParams.get("request"),
    }),
  });
  if (decided.status !== 303) throw new Error(`consent: ${decided.status}`);
  return { back: new URL(decided.headers.get("location")) };
}

async function withOauth4webapi(server, client, { url, person }) {
  const verifier = lib.generateRandomCodeVerifier();
  const state = lib.generateRandomState();
  const asked = new URL(server.authorization_endpoint);
  asked.search = new URLSearchParams({
    client_id: client.client_id, redirect_uri: redirectUri, response_type: "code", state,
    code_challenge: await lib.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256",
    resource: url, scope,
  });
  const { back } = await browse(asked, person);
  const answer = lib.validateAuthResponse(server, client, back, state);
  const first = await lib.processAuthorizationCodeResponse(
    server, client, await lib.authorizationCodeGrantRequest(
      server, client, lib.None(), answer, redirectUri, verifier,
      { additionalParameters: { resource: url }, ...insecure }));
  const refresh = async (token) => lib.processRefreshTokenResponse(
    server, client, await lib.refreshTokenGrantRequest(server, client, lib.None(), token,
                                                       insecure));
  const second = await refresh(first.refresh_token);
  await lib.processRevocationResponse(
    await lib.revocationRequest(server, client, lib.None(), second.refresh_token, insecure));
  const afterwards = await refresh(second.refresh_token).then(() => "it lives", (e) => e.error);
  const nobody = await lib.processRefreshTokenResponse(
    server, client, await lib.refreshTokenGrantRequest(server, { client_id: "nobody" }, lib.None(),
                                                       second.refresh_token, insecure))
    .then(() => "it lives", (e) => e.error ?? e.code);
  return { nobody, type: first.token_type, lifetime: first.expires_in, access: first.access_token,
           refreshed: second.access_token, afterwards };
}

async function withBadgateway(server, client, { url, person }) {
  const other = new OAuth2Client({
    server: url, clientId: client.client_id,
    discoveryEndpoint: "/.well-known/oauth-authorization-server",
  });
  const codeVerifier = await generateCodeVerifier();
  const state = "state of another client";
  const asked = await other.authorizationCode.getAuthorizeUri({
    redirectUri, state, codeVerifier, resource: url, scope: [scope] });
  const { back } = await browse(asked, person);
  const first = await other.authorizationCode.getTokenFromCodeRedirect(
    back, { redirectUri, state, codeVerifier, resource: url });
  const second = await other.refreshToken(first);
  await other.revoke(second, "refresh_token");
  const afterwards = await other.refreshToken(second).then(() => "it lives", (e) => e.oauth2Code);
  other.settings.clientId = "nobody";
  const nobody = await other.refreshToken(second).then(() => "it lives", (e) => e.oauth2Code);
  return { nobody, type: "bearer", lifetime: Math.round((first.expiresAt - Date.now()) / 1000),
           access: first.accessToken, refreshed: second.accessToken, afterwards };
}

/** An answer in one line, without what differs between servers or moments. */
async function outcome(response) {
  const type = response.headers.get("content-type") ?? "";
  const body = type.includes("json") ? await response.json() : {};
  return [response.status, body.error ?? body.token_type,
          response.headers.get("cache-control")?.includes("no-store") ? "no-store" : ""].join(" ")
    .trim();
}

async function battery({ url, person }) {
  const server = await discover(url);
  const client = await register(server);
  const other = await register(server);
  const verifier = lib.generateRandomCodeVerifier();
  const challenge = await lib.calculatePKCECodeChallenge(verifier);
  const found = {};

  const query = (changes = {}) => {
    const all = { client_id: client.client_id, redirect_uri: redirectUri, response_type: "code",
                  state: "s t", code_challenge: challenge, code_challenge_method: "S256",
                  resource: url, scope, ...changes };
    const set = Object.entries(all).filter(([, value]) => value !== undefined);
    return `${server.authorization_endpoint}?${new URLSearchParams(set)}`;
  };
  const authorize = async (changes, decision) => {
    const { page, back } = await browse(query(changes), person, decision);
    if (page) return `page ${page}`;
    // An implicit answer is in the fragment.
    const answered = back.hash ? new URLSearchParams(back.hash.slice(1)) : back.searchParams;
    const { error, state, iss } = Object.fromEntries(answered);
    return [error ?? "code", state, iss === url ? "iss" : "another iss"].join(" ");
  };
  const code = async () => (await browse(query(), person)).back.searchParams.get("code");
  const form = (endpoint, fields) => fetch(endpoint, {
    method: "POST", body: new URLSearchParams(fields) });
  const token = (fields) => form(server.token_endpoint, { client_id: client.client_id, ...fields });
  const exchange = (one, changes = {}) => token({
    grant_type: "authorization_code", code: one, redirect_uri: redirectUri,
    code_verifier: verifier, ...changes });
  const refresh = (one, changes = {}) => token({
    grant_type: "refresh_token", refresh_token: one, ...changes });
  const registered = async (changes) => outcome(await fetch(server.registration_endpoint, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...metadata, ...changes }) }));

  found["authorize"] = await authorize();
  found["authorize, denied"] = await authorize({ state: "no" }, "deny");
  found["authorize, no resource"] = await authorize({ resource: undefined });
  found["authorize, another resource"] = await authorize({ resource: "https://other.example" });
  found["authorize, no challenge"] = await authorize({ code_challenge: undefined,
                                                       code_challenge_method: undefined });
  found["authorize, plain"] = await authorize({ code_challenge_method: "plain" });
  found["authorize, short challenge"] = await authorize({ code_challenge: "short" });
  found["authorize, token"] = await authorize({ response_type: "token" });
  found["authorize, no type"] = await authorize({ response_type: undefined });
  found["authorize, unknown client"] = await authorize({ client_id: "nobody" });
  found["authorize, another URI"] = await authorize({ redirect_uri: "https://evil.example/" });
  found["authorize, another path"] = await authorize({ redirect_uri: `${redirectUri}/x` });
  const twice = await browse(`${query()}&state=again`, person);
  found["authorize, twice"] = twice.page ? `page ${twice.page}`
    : twice.back.searchParams.get("error");

  found["exchange"] = await outcome(await exchange(await code()));
  found["exchange, another verifier"] =
    await outcome(await exchange(await code(), { code_verifier: "v".repeat(43) }));
  found["exchange, no verifier"] =
    await outcome(await exchange(await code(), { code_verifier: "" }));
  found["exchange, another URI"] =
    await outcome(await exchange(await code(), { redirect_uri: `${redirectUri}/x` }));
  found["exchange, unknown client"] =
    await outcome(await exchange(await code(), { client_id: "nobody" }));
  found["exchange, another resource"] =
    await outcome(await exchange(await code(), { resource: "https://other.example" }));
  found["exchange, no such code"] = await outcome(await exchange("nothing"));
  const used = await code();
  await exchange(used);
  found["exchange, used"] = await outcome(await exchange(used));

  found["token, no type"] = await outcome(await token({ code: "x" }));
  for (const type of ["password", "client_credentials", "implicit", "unheard-of"]) {
    found[`token, ${type}`] = await outcome(await token({ grant_type: type }));
  }
  found["token, twice"] = await outcome(await fetch(server.token_endpoint, {
    method: "POST", headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: `client_id=${client.client_id}&grant_type=refresh_token&grant_type=refresh_token` }));

  const first = await (await exchange(await code())).json();
  const refreshed = await refresh(first.refresh_token);
  found["refresh"] = await outcome(refreshed.clone());
  const second = await refreshed.json();
  found["refresh, rotated"] = second.refresh_token !== first.refresh_token;
  const third = await (await refresh(second.refresh_token)).json();
  found["refresh, long used"] = await outcome(await refresh(first.refresh_token));
  found["refresh, of an ended grant"] = await outcome(await refresh(third.refresh_token));
  found["refresh, no such token"] = await outcome(await refresh("nothing"));
  found["refresh, no token"] = await outcome(await token({ grant_type: "refresh_token" }));

  // RFC 7009 section 2.2 leaves open whether an answer without a token may be stored.
  const unstored = (text) => text.replace(" no-store", "");
  const revoke = (fields) => form(server.revocation_endpoint,
                                  { client_id: client.client_id, ...fields });
  const live = await (await exchange(await code())).json();
  found["revoke, nothing"] = (await revoke({ token: "nothing" })).status;
  found["revoke, no token"] = unstored(await outcome(await revoke({})));
  found["revoke, unknown client"] =
    unstored(await outcome(await revoke({ token: "x", client_id: "nobody" })));
  found["revoke"] = (await revoke({ token: live.refresh_token })).status;
  found["refresh, revoked"] = await outcome(await refresh(live.refresh_token));

  found["register"] = await registered({});
  found["register, no URI"] = await registered({ redirect_uris: [] });
  found["register, fragment"] = await registered({ redirect_uris: ["https://a.example/#f"] });
  found["register, http elsewhere"] = await registered({ redirect_uris: ["http://a.example/"] });
  found["register, name of no text"] = await registered({ client_name: 7 });
  found["register, same again"] = other.client_id === client.client_id;
  return found;
}

await obey({
  async flow({ library, url, person }) {
    const server = await discover(url);
    const client = await register(server);
    const run = { oauth4webapi: withOauth4webapi, badgateway: withBadgateway }[library];
    return run(server, client, { url, person });
  },
  battery,
});
