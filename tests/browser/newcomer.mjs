// A newcomer's path. Steps: {origin, link, source}. It goes from the home page to a data source,
// signs in by a link, makes a key and a call in the playground, and reads that call in the
// inspector. Prints one JSON object of what was seen.
import {launch} from "./browser.mjs";
import {steps, tell} from "./steps.mjs";

const browser = await launch();
const page = await (await browser.newContext()).newPage();
const seen = {errors: []};
page.on("pageerror", (error) => seen.errors.push(error.message));
page.on("console", (message) => {
  if (message.type() === "error") seen.errors.push(message.text());
});
const client = await page.context().newCDPSession(page);
await client.send("WebAuthn.enable");
await client.send("WebAuthn.addVirtualAuthenticator", {options: {
  protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true,
  isUserVerified: true, automaticPresenceSimulation: true,
}});
const follow = (name) => page.getByRole("link", {name, exact: true}).first().click();
const press = (name) => page.getByRole("button", {name, exact: true}).click();
const heading = () => page.locator("h1").innerText();

await page.goto(steps.origin + "/");
seen.home = await heading();
await follow("all sources of data");
await page.waitForURL("**/discovery");
await follow(steps.source);
await page.waitForURL("**/discovery/sources/*");
seen.source = await heading();

await page.goto(steps.link);
await press("Sign in");
await page.waitForURL("**/account");
await page.locator("#passkey-name").fill("Laptop");
await press("Add a passkey");
await page.getByRole("cell", {name: "Laptop", exact: true}).waitFor();

await page.goto(steps.origin + "/dashboard");
await follow("Keys");
await page.locator("#key-name").fill("first");
await press("Create an API key");
const key = await page.locator("#secret").textContent();

await follow("Playground");
const operations = page.locator("#operation");
const daos = operations.locator("option", {hasText: "The DAOs in the store"});
await operations.selectOption(await daos.getAttribute("value"));
await press("Choose");
seen.price = await page.getByText("This call costs").innerText();
await page.locator("#key").fill(key);
await press("Run the call");
const cost = page.getByText(/It cost \d/);
await cost.waitFor();
seen.cost = await cost.innerText();
seen.keyKept = await page.evaluate(() => JSON.stringify([{...localStorage}, {...sessionStorage},
  document.cookie, location.href]));
seen.keyKept = seen.keyKept.includes(key);
seen.headers = await page.locator("#result table").innerText();

await follow("Read it in the inspector");
await page.waitForURL("**/calls/*");
seen.inspector = await page.locator("main").innerText();
await browser.close();
tell(seen);
