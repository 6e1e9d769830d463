// A person on the web host. Steps: {origin, link, account, secondLink, consents, callback}.
// `consents` are the paths of four requests for access, which are answered at the URL `callback`.
// Prints "age" when the calling test must let the step-ups expire, and continues when a line
// arrives. Finally prints one JSON object of what was seen.
import {generateKeyPairSync} from "node:crypto";
import {once} from "node:events";
import {launch, look as lookAt} from "./browser.mjs";
import {letTest, steps, tell} from "./steps.mjs";

const seen = {axe: [], sideways: []};
const browser = await launch();

async function newPerson() {
  const context = await browser.newContext({bypassCSP: false});
  const page = await context.newPage();
  page.on("pageerror", (error) => { throw error; });
  const client = await context.newCDPSession(page);
  await client.send("WebAuthn.enable");
  const {authenticatorId} = await client.send("WebAuthn.addVirtualAuthenticator", {options: {
    protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true,
    isUserVerified: true, automaticPresenceSimulation: true,
  }});
  return {context, page, client, authenticatorId};
}

const look = (person, name) => lookAt(person, name, seen, steps.screenshots, `people-${name}`);
const open = (person, path) => person.page.goto(steps.origin + path);
const press = (person, name) => person.page.getByRole("button", {name, exact: true}).click();
const secret = (person) => person.page.locator("#secret").textContent();
const pathOf = (person) => new URL(person.page.url()).pathname;

// ---- first sign-in by link, and a passkey
const owner = await newPerson();
await open(owner, "/account");
seen.stranger = pathOf(owner);
await look(owner, "login");
await owner.page.goto(steps.link);
await look(owner, "link");
seen.fragmentKept = owner.page.url().includes("#");
seen.tokenFilled = (await owner.page.locator("#token").inputValue()).startsWith("turnpike_ln_");
await press(owner, "Sign in");
await owner.page.waitForURL("**/account");
await look(owner, "account-enrol");
await owner.page.locator("#passkey-name").fill("Laptop");
await press(owner, "Add a passkey");
await owner.page.getByRole("cell", {name: "Laptop", exact: true}).waitFor();
await look(owner, "account");
seen.cookieForScripts = await owner.page.evaluate(() => document.cookie);

// ---- sign-out, and sign-in with the passkey
await press(owner, "Sign out");
await owner.page.waitForURL("**/login");
await owner.page.goBack();
seen.afterBack = pathOf(owner);
await open(owner, `/accounts/${steps.account}`);
await press(owner, "Sign in with a passkey");
await owner.page.getByRole("heading", {name: "No API key can call"}).waitFor();
seen.oldPathLedTo = pathOf(owner);
await look(owner, "keys-none");

// ---- a key
await owner.page.locator("#key-name").fill("research");
await press(owner, "Create an API key");
seen.key = await secret(owner);
await look(owner, "new-key");
await owner.page.getByRole("link", {name: "Back"}).click();
seen.keyShownAgain = (await owner.page.content()).includes(seen.key);
await owner.page.getByRole("heading", {name: "1 API key can call"}).waitFor();
await look(owner, "keys");

// ---- the key is renamed and bounded
await owner.page.getByRole("link", {name: "research", exact: true}).click();
await look(owner, "key");
await owner.page.locator("#name").fill("<b>research</b>");
await press(owner, "Rename the key");
await owner.page.getByRole("heading", {name: "<b>research</b>"}).waitFor();
await owner.page.locator("#cap-per-day").fill("5");
await owner.page.locator("#last-day").fill("2020-01-01");
await press(owner, "Set the bounds");
seen.pastDay = await owner.page.locator("#problem").textContent();
seen.capKept = await owner.page.locator("#cap-per-day").inputValue();
await look(owner, "key-refused");
await owner.page.locator("#last-day").fill("2999-12-31");
await press(owner, "Set the bounds");
await owner.page.getByText("0 of 5 Credits are used").waitFor();
seen.ends = await owner.page.locator("dd", {hasText: "3000-01-01 00:00 UTC"}).count();
await open(owner, `/dashboard/${steps.account}/security-log?action=key.cap`);
seen.logged = await owner.page.getByRole("row").allTextContents();
await look(owner, "security-log");
await open(owner, "/account/events");
await look(owner, "events");

// ---- a program asks for access
const CALLBACK = `${steps.callback}?**`;
await open(owner, steps.consents[0]);
await look(owner, "consent");
await press(owner, "No");
await owner.page.waitForURL(CALLBACK);
seen.denied = owner.page.url();
await open(owner, steps.consents[1]);
await owner.page.locator("#cap").fill("5");
await press(owner, "Give access");
await owner.page.waitForURL(CALLBACK);
seen.approved = owner.page.url();
await open(owner, "/account");
await look(owner, "account-grants");
seen.grantsBefore = await owner.page.getByRole("heading", {name: "1 program with access"}).count();
await press(owner, "End the access of Test client");
await owner.page.waitForURL("**/account");
seen.grantsLeft = await owner.page.getByRole("heading", {name: "with access"}).count();

// ---- the same without any script
const quiet = await browser.newContext({
  javaScriptEnabled: false, storageState: await owner.context.storageState()});
const quietPage = await quiet.newPage();
await quietPage.goto(steps.origin + steps.consents[3]);
await quietPage.getByRole("button", {name: "Give access", exact: true}).click();
await quietPage.waitForURL(CALLBACK);
seen.approvedWithoutScript = quietPage.url();
await quiet.close();

// ---- spending and granting need a fresh proof
await letTest("age");
await open(owner, steps.consents[2]);
seen.consentNeedsProof = await owner.page.locator("main .alert").textContent();
await look(owner, "consent-step-up");
seen.approveOffered = await owner.page.getByRole("button", {name: "Give access"}).count();
await open(owner, `/dashboard/${steps.account}/members`);
await press(owner, "Invite somebody");
seen.stepUpAsked = await owner.page.locator("main .alert").textContent();
await look(owner, "step-up");
await press(owner, "Use a passkey");
await owner.page.getByRole("heading", {name: "1 member of demo"}).waitFor();

// ---- a colleague joins by invitation
await owner.page.locator("#invitation-role").selectOption("admin");
await press(owner, "Invite somebody");
const invitation = await secret(owner);
await look(owner, "invitation-made");
const colleague = await newPerson();
await colleague.page.goto(invitation);
await look(colleague, "invitation");
await colleague.page.locator("#name").fill("Colleague");
await colleague.page.locator("#login").fill("Colleague@example.org");
await press(colleague, "Join");
await colleague.page.waitForURL("**/account");
await press(colleague, "Add a passkey");
await colleague.page.getByRole("cell", {name: "My passkey", exact: true}).waitFor();

// ---- an authenticator forgets a passkey that was removed here
const {authenticatorId: stick} = await colleague.client.send("WebAuthn.addVirtualAuthenticator", {
  options: {protocol: "ctap2", transport: "usb", hasResidentKey: true, hasUserVerification: true,
    isUserVerified: true}});
const {privateKey} = generateKeyPairSync("ec", {namedCurve: "P-256"});
const base64 = (text) => Buffer.from(text, "base64url").toString("base64");
await colleague.client.send("WebAuthn.addCredential", {
  authenticatorId: stick,
  credential: {
    credentialId: base64("cmVtb3ZlZA"), isResidentCredential: true, rpId: "localhost",
    privateKey: privateKey.export({format: "der", type: "pkcs8"}).toString("base64"),
    userHandle: base64(await colleague.page.locator("#passkeys").getAttribute("data-user")),
    signCount: 0,
  }});
const forgotten = once(colleague.client, "WebAuthn.credentialDeleted");
await open(colleague, "/account");
seen.forgotten = (await forgotten)[0].credentialId;
await colleague.client.send("WebAuthn.removeVirtualAuthenticator", {authenticatorId: stick});

await colleague.page.getByRole("link", {name: "demo"}).click();
await colleague.page.waitForURL("**/dashboard/*");
await open(colleague, `/dashboard/${steps.account}/members`);

// ---- the colleague may not remove the owner; the last owner may not leave or lose the role
seen.removeOwnerOffered = await colleague.page.getByRole("button", {name: /Owner/}).count();
await open(owner, `/dashboard/${steps.account}/members`);
await press(owner, "Leave");
seen.lastOwner = await owner.page.locator("#problem").textContent();
await look(owner, "members-refused");
await owner.page.getByLabel("Role of Owner").selectOption("member");
await press(owner, "Change the role of Owner");
seen.lastOwnerRole = await owner.page.locator("#problem").textContent();
await owner.page.getByLabel("Role of Colleague").selectOption("owner");
await press(owner, "Change the role of Colleague");
await owner.page.getByRole("cell", {name: "owner", exact: true}).nth(1).waitFor();
await look(owner, "members");

// ---- the key is revoked, and the last passkey stays
await open(owner, `/dashboard/${steps.account}/keys`);
await owner.page.getByRole("link", {name: "<b>research</b>", exact: true}).click();
await owner.page.locator("#confirm").fill("research");
await press(owner, "Revoke the key");
seen.wrongName = await owner.page.locator("#problem").textContent();
await owner.page.locator("#confirm").fill("<b>research</b>");
await press(owner, "Revoke the key");
await owner.page.getByText("revoked", {exact: true}).waitFor();
seen.formsOfRevoked = await owner.page.locator("main form").count();
await open(owner, "/account");
await press(owner, "Remove Laptop");
seen.lastCredential = await owner.page.locator("main .alert").textContent();

// ---- a passkey without user verification
await press(owner, "Sign out").catch(() => undefined);
await open(owner, "/login");
await owner.client.send("WebAuthn.setUserVerified",
  {authenticatorId: owner.authenticatorId, isUserVerified: false});
await press(owner, "Sign in with a passkey");
await owner.page.locator("#passkey-message").filter({hasText: /\w/}).waitFor();
seen.unverified = await owner.page.locator("#passkey-message").textContent();

// ---- an account of the colleague's own
await open(colleague, "/account");
await colleague.page.locator("#account-name").fill("Side project");
await press(colleague, "Create a billing account");
await colleague.page.waitForURL("**/dashboard/*");
await open(colleague, pathOf(colleague) + "/members");
await colleague.page.getByRole("heading", {name: "1 member of Side project"}).waitFor();
seen.ownAccount = await colleague.page.locator("main .lead").textContent();

// ---- without any script
const plain = await browser.newContext({javaScriptEnabled: false});
const page = await plain.newPage();
await page.goto(steps.secondLink);
await page.locator("#token").fill(steps.secondLink.split("#")[1]);
await page.getByRole("button", {name: "Sign in", exact: true}).click();
seen.withoutScript = [new URL(page.url()).pathname, await page.locator("h1").textContent(),
  await page.getByRole("button", {name: "Add a passkey"}).count()];
await page.getByRole("button", {name: "Sign out"}).click();
seen.withoutScript.push(new URL(page.url()).pathname);

await browser.close();
tell(seen);
