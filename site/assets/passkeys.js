// Passkeys need the browser's own interface, so these buttons need a script; nothing else here does.
"use strict";

const decode = (text) => Uint8Array.from(
  atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const encode = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const csrf = () => document.querySelector('meta[name="csrf"]')?.content ?? "";

async function post(path, body) {
  const reply = await fetch(path, {
    method: "POST",
    headers: {"Content-Type": "application/json", "Turnpike-CSRF": csrf()},
    body: JSON.stringify(body),
  });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error?.message ?? "The gateway refused this.");
  return answer;
}

// The options with bytes in place of base64url.
function readOptions(publicKey) {
  const descriptors = (list) => (list ?? []).map((one) => ({...one, id: decode(one.id)}));
  const options = {...publicKey, challenge: decode(publicKey.challenge)};
  if (publicKey.user) options.user = {...publicKey.user, id: decode(publicKey.user.id)};
  if (publicKey.excludeCredentials) {
    options.excludeCredentials = descriptors(publicKey.excludeCredentials);
  }
  if (publicKey.allowCredentials) {
    options.allowCredentials = descriptors(publicKey.allowCredentials);
  }
  return options;
}

async function ask(optionsPath) {
  const {ceremonyId, publicKey} = await post(optionsPath, {});
  const credential = await navigator.credentials.get({publicKey: readOptions(publicKey)});
  const {response} = credential;
  return {ceremonyId, credential: {
    id: credential.id,
    rawId: encode(credential.rawId),
    type: credential.type,
    clientExtensionResults: {},
    response: {
      clientDataJSON: encode(response.clientDataJSON),
      authenticatorData: encode(response.authenticatorData),
      signature: encode(response.signature),
      ...(response.userHandle ? {userHandle: encode(response.userHandle)} : {}),
    },
  }};
}

const acts = {
  async signIn(button) {
    await post("/v1/sign-in/passkey", await ask("/v1/sign-in/passkey/options"));
    location.assign(button.dataset.next);
  },
  async stepUp(button) {
    await post("/v1/step-up/passkey", await ask("/v1/step-up/passkey/options"));
    location.assign(button.dataset.next);
  },
  async enrol(button) {
    const name = document.getElementById(button.dataset.nameField).value;
    const {ceremonyId, publicKey} = await post("/v1/me/passkeys/options", {});
    const made = await navigator.credentials.create({publicKey: readOptions(publicKey)});
    await post("/v1/me/passkeys", {ceremonyId, name, credential: {
      id: made.id,
      rawId: encode(made.rawId),
      type: made.type,
      clientExtensionResults: {},
      response: {
        clientDataJSON: encode(made.response.clientDataJSON),
        authenticatorData: encode(made.response.getAuthenticatorData()),
        attestationObject: encode(made.response.attestationObject),
        transports: made.response.getTransports(),
      },
    }});
    location.assign(button.dataset.next);
  },
};

for (const button of document.querySelectorAll("button[data-passkey]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const message = document.getElementById("passkey-message");
    button.disabled = true;
    message.textContent = "";
    try {
      await acts[button.dataset.passkey](button);
    } catch (error) {
      message.textContent = error.name === "NotAllowedError"
        ? "No passkey was used: it was cancelled, or took too long." : error.message;
      button.disabled = false;
    }
  });
}

// Authenticators forget passkeys that were removed here (WebAuthn level 3, section 5.1.10.3).
const known = document.getElementById("passkeys");
if (known && window.PublicKeyCredential?.signalAllAcceptedCredentials) {
  PublicKeyCredential.signalAllAcceptedCredentials({
    rpId: known.dataset.domain,
    userId: known.dataset.user,
    allAcceptedCredentialIds: known.dataset.credentials.split(" ").filter((id) => id),
  }).catch(() => {});  // it is a courtesy: nothing depends on it
}

// A link carries its token behind "#", which browsers do not send; it must not stay in the history.
const token = document.getElementById("token");
if (token && location.hash.length > 1) {
  token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
}
