// A certified authorization server (npm oidc-provider) that is set up like the gateway's: public
// clients that register themselves, PKCE, resource indicators, refresh tokens that rotate.
// Everybody is signed in as the same person, who agrees unless the client's state is "no".
// usage: oracle_server.mjs     first line: {"url": its issuer}
import { createServer } from "node:http";
import { errors, Provider } from "oidc-provider";
import { endWithStarter } from "../mcp/parts.mjs";

const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clientDefaults: {
    token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  clientAuthMethods: ["none"],
  cookies: { keys: ["not a secret"] },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => issuer,
      getResourceServerInfo: (context, resource) => {
        if (resource !== issuer) throw new errors.InvalidTarget();
        return { scope: "call", audience: issuer, accessTokenTTL: 3600,
                 accessTokenFormat: "opaque" };
      },
      useGrantedResource: () => true,
    },
  },
  findAccount: (context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (context, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: () => true,
  pkce: { required: () => true },
  rotateRefreshToken: () => true,
  scopes: ["call"],
  ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, Interaction: 600,
         RefreshToken: 3600, Session: 3600 },
});

async function decide(request, response) {
  const { params, prompt, session } = await provider.interactionDetails(request, response);
  if (params.state === "no") {
    return provider.interactionFinished(request, response, { error: "access_denied" });
  }
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: "ann" } });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope("call");
  grant.addResourceScope(issuer, "call");
  return provider.interactionFinished(request, response,
                                      { consent: { grantId: await grant.save() } });
}

const answer = provider.callback();
server.on("request", (request, response) => {
  if (!request.url.startsWith("/interaction/")) return answer(request, response);
  decide(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  });
});
console.log(JSON.stringify({ url: issuer }));
endWithStarter();
