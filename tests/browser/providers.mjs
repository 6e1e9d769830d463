// A person with an identity at another provider. Steps: {origin, provider, scripts, looks}.
// `provider` is the name of a provider that creates people and agrees to everything. With `looks`,
// axe-core checks the pages. Prints one JSON object of what was seen.
import {launch, look as lookAt} from "./browser.mjs";
import {steps, tell} from "./steps.mjs";

const seen = {axe: [], sideways: []};
const browser = await launch();
const context = await browser.newContext({javaScriptEnabled: steps.scripts});
const page = await context.newPage();
const client = await context.newCDPSession(page);

async function look(name) {
  if (!steps.looks) return;
  await lookAt({page, client}, name, seen, steps.screenshots, `providers-${name}`);
}
const press = (name) => page.getByRole("button", {name, exact: true}).click();

await page.goto(steps.origin + "/login");
await look("login-providers");
await page.getByRole("link", {name: `Sign in with ${steps.provider}`}).click();
await page.waitForURL("**/account");
await look("account-provider");

// A refusal offers the fresh proof in a form that leads over other hosts.
await page.getByLabel("Name of a new billing account").fill("Acme");
await press("Create a billing account");
await look("refusal-provider");
await press(`Prove it with ${steps.provider}`);
await page.waitForURL("**/account");
await look("account-provider-fresh");
await page.getByLabel("Name of a new billing account").fill("Acme");
await press("Create a billing account");
await page.waitForURL("**/dashboard/*");
await page.goto(page.url() + "/members");
seen.account = await page.locator("main").innerText();

await page.goto(steps.origin + "/account");
await press(`Link ${steps.provider}`);
await page.waitForURL("**/callback?*");
seen.linkedTwice = await page.locator("main").innerText();
await look("linked-twice");
await page.goto(steps.origin + "/account");
await press(`Unlink ${steps.provider}`);
seen.lastCredential = await page.locator("main").innerText();

tell(seen);
await browser.close();
