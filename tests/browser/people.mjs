// A person on the web host: node people.mjs STEPS, where STEPS is JSON: {origin, link, account,
// secondLink, consents, callback, screenshots?}. `consents` are the paths of three requests for
// access, which are answered at the URL `callback`. Prints "age" when the test that started it is
// to let the proofs of who people are grow old, and goes on when a line comes; at the end one JSON
// object of what was seen.
import {once} from "node:events";
import {createInterface} from "node:readline";
import {chromium} from "playwright-core";
import {violationsOf} from "./axe.mjs";

const CHROMIUM = process.env.TURNPIKE_CHROMIUM ?? "/usr/bin/chromium-headless-shell";

const steps = JSON.parse(process.argv[2]);
const input = createInterface({input: process.stdin});
async function letProofsAge() {
  console.log("age");
  await once(input, "line");
}
const seen = {axe: [], statuses: {}};
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});

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

async function look(person, name) {
  for (const problem of await violationsOf(person.page, person.client)) {
    seen.axe.push(`${name}: ${problem}`);
  }
  if (steps.screenshots) {
    await person.page.screenshot({path: `${steps.screenshots}/${name}.png`, fullPage: true});
  }
}

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

// ---- out, and in again with the passkey
await press(owner, "Sign out");
await owner.page.waitForURL("**/login");
await owner.page.goBack();
seen.afterBack = pathOf(owner);
await open(owner, `/accounts/${steps.account}`);
await press(owner, "Sign in with a passkey");
await owner.page.getByRole("heading", {name: "API keys"}).waitFor();
await look(owner, "billing-account");

// ---- a key
await owner.page.locator("#key-name").fill("research");
await press(owner, "Create an API key");
seen.key = await secret(owner);
await look(owner, "new-key");
await owner.page.getByRole("link", {name: "Back"}).click();
seen.keyShownAgain = (await owner.page.content()).includes(seen.key);

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
await press(owner, "End the access of Test client");
await owner.page.waitForURL("**/account");
seen.grantsLeft = await owner.page.getByRole("heading", {name: "Programs with access"}).count();
await open(owner, `/accounts/${steps.account}`);

// ---- what spends or grants takes a fresh proof
await letProofsAge();
await open(owner, steps.consents[2]);
seen.consentNeedsProof = await owner.page.locator("main .alert").textContent();
await look(owner, "consent-step-up");
seen.approveOffered = await owner.page.getByRole("button", {name: "Give access"}).count();
await open(owner, `/accounts/${steps.account}`);
await press(owner, "Invite somebody");
seen.stepUpAsked = await owner.page.locator("main .alert").textContent();
await look(owner, "step-up");
await press(owner, "Use a passkey");
await owner.page.getByRole("heading", {name: "API keys"}).waitFor();

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
await colleague.page.getByRole("link", {name: "demo"}).click();
await colleague.page.getByRole("heading", {name: "API keys"}).waitFor();

// ---- the colleague may not remove the owner; the last owner may not leave
await press(colleague, "Remove Owner");
seen.removeOwner = await colleague.page.locator("main .alert").textContent();
await open(owner, `/accounts/${steps.account}`);
await press(owner, "Leave");
seen.lastOwner = await owner.page.locator("main .alert").textContent();
await look(owner, "refusal");

// ---- the key is revoked, and the last passkey stays
await open(owner, `/accounts/${steps.account}`);
await press(owner, "Revoke research");
await owner.page.getByRole("cell", {name: "revoked", exact: true}).waitFor();
await open(owner, "/account");
await press(owner, "Remove Laptop");
seen.lastCredential = await owner.page.locator("main .alert").textContent();

// ---- a passkey without user verification, and one that was deleted here
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
await colleague.page.getByRole("heading", {name: "Side project"}).waitFor();
seen.ownAccount = await colleague.page.locator("main p").first().textContent();

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
input.close();
console.log(JSON.stringify(seen));
