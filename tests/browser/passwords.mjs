// Passwords and recovery codes on the pages. Steps: {origin, people: [{link, login, account,
// script}]}. Each person takes the same path, with or without scripts; axe-core checks the pages of
// people with scripts. Prints "age" when the calling test must let the person's step-up expire, and
// continues when a line arrives. Finally prints one JSON array of what each person saw.
import {launch, look as lookAt} from "./browser.mjs";
import {letTest, steps, tell} from "./steps.mjs";

const FIRST = "rivers carry seven lamps";
const SECOND = "seven lamps carry rivers";

const browser = await launch();

async function walk({link, login, account, script}) {
  const context = await browser.newContext({javaScriptEnabled: script});
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  const seen = {axe: [], sideways: [], urls: []};
  page.on("request", (request) => seen.urls.push(request.url()));
  const open = (path) => page.goto(steps.origin + path);
  const press = (name) => page.getByRole("button", {name, exact: true}).click();
  const alert = async () => (await page.locator("main .alert").first().innerText()).trim()
    .split("\n")[0];
  const path = () => new URL(page.url()).pathname;
  async function look(name) {
    if (script) await lookAt({page, client}, name, seen, steps.screenshots, `passwords-${name}`);
  }
  async function signIn(password) {
    await open("/login");
    await page.locator("#login").fill(login);
    await page.locator("#password").fill(password);
    await press("Sign in with the password");
  }
  async function signOut() {
    await press("Sign out");
    await page.waitForURL("**/login");
  }

  // ---- a password instead of a passkey
  await page.goto(link);
  if (!script) await page.locator("#token").fill(link.split("#")[1]);
  await press("Sign in");
  await page.waitForURL("**/account");
  await look("account-enrol");
  await page.locator("#new-password").fill("passwordpassword1");
  await press("Set a password");
  seen.weak = await alert();
  await look("rejected");
  await open("/account");
  await page.locator("#new-password").fill(FIRST);
  await press("Set a password");
  await page.waitForURL("**/account");
  await look("account");
  await signOut();
  await look("login");

  // ---- sign-in with the password
  await signIn("not this one at all");
  seen.wrong = [path(), await alert()];
  await open("/dashboard/" + account + "/keys");
  await page.locator("#login").fill(login);
  await page.locator("#password").fill(FIRST);
  await press("Sign in with the password");
  seen.afterSignIn = path();

  // ---- making a key needs a fresh proof
  await letTest("age");
  await page.locator("#key-name").fill("research");
  await press("Create an API key");
  seen.stepUpAsked = await alert();
  await look("step-up");
  await page.locator("#step-up-password").fill(FIRST);
  await press("Use the password");
  seen.afterStepUp = path();
  await page.locator("#key-name").fill("research");
  await press("Create an API key");
  seen.key = await page.locator("#secret").textContent();

  // ---- recovery codes, one of which lets the person in to set another password
  await open("/account");
  await press("Make new recovery codes");
  seen.codes = await page.locator(".secret code").allTextContents();
  await look("codes");
  await page.getByRole("link", {name: "Back"}).click();
  await signOut();
  await page.getByRole("link", {name: "Use a recovery code"}).click();
  await look("recovery");
  await page.locator("#login").fill(login);
  await page.locator("#code").fill(seen.codes[3].toUpperCase().replaceAll("-", " "));
  await press("Sign in");
  await page.waitForURL("**/account");
  seen.asksCurrentOfEnrolling = await page.locator("#current-password").count();
  await page.locator("#new-password").fill(SECOND);
  await press("Change the password");
  await page.waitForURL("**/account");
  seen.codesLeft = await page.getByText("7 recovery codes left").count();
  await signOut();
  await signIn(SECOND);
  await page.waitForURL("**/account");

  // ---- a change, and the last credential
  await page.locator("#current-password").fill(SECOND);
  await page.locator("#new-password").fill(FIRST + " again");
  await press("Change the password");
  await page.waitForURL("**/account");
  await press("Remove the password");
  seen.lastCredential = await alert();
  await open("/account");
  await signOut();
  await signIn(FIRST + " again");
  await page.waitForURL("**/account");
  seen.cookies = (await context.cookies()).map((one) => [one.name, one.httpOnly, one.sameSite]);
  return seen;
}

const all = [];
for (const person of steps.people) all.push(await walk(person));
await browser.close();
tell(all);
