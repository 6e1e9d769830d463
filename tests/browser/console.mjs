// The operator console in a browser. Steps: {origin, credential, paths}. Signs in by keyboard,
// looks at every path, submits a form without scripts, and signs out. Prints one JSON object of
// what it saw.
import {launch, look as lookAt, newReader} from "./browser.mjs";
import {steps, tell} from "./steps.mjs";

const seen = {axe: [], sideways: [], errors: [], outside: []};
const browser = await launch();

async function newOperator(options) {
  const reader = await newReader(browser, options, seen.errors);
  const {page} = reader;
  page.on("dialog", (dialog) => {
    seen.errors.push(`${page.url()}: a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(steps.origin) && !url.startsWith("data:")) seen.outside.push(url);
  });
  return reader;
}

async function signIn(reader) {
  await reader.page.goto(steps.origin + "/console/accounts");
  await reader.page.locator("#credential").focus();
  await reader.page.keyboard.type(steps.credential);
  await reader.page.keyboard.press("Enter");
  await reader.page.waitForURL("**/console/accounts");
}

async function look(path) {
  const file = path.slice(1).replace(/=.*/, "").replace(/acc_\w+/, "account")
    .replaceAll(/[/?]/g, "-");
  await lookAt(reader, path, seen, steps.screenshots, file);
}

const reader = await newOperator({});
await reader.page.goto(steps.origin + "/");
seen.first = new URL(reader.page.url()).pathname;
await look("/console/login");
await signIn(reader);
for (const path of steps.paths) {
  await reader.page.goto(steps.origin + path);
  for (const one of await reader.page.locator("details").all()) {
    await one.evaluate((details) => { details.open = true; });
  }
  await look(path);
}
seen.cookieForScripts = await reader.page.evaluate(() => document.cookie);
await reader.page.getByRole("button", {name: "Sign out"}).click();
await reader.page.waitForURL("**/console/login");
await reader.page.goBack();
seen.afterBack = new URL(reader.page.url()).pathname;

const plain = await newOperator({javaScriptEnabled: false});
await signIn(plain);
await plain.page.goto(steps.origin + "/console/providers");
await plain.page.locator("#incident-scope").fill("gateway");
await plain.page.locator("#incident-note").fill("<b>Slow</b> since noon.");
await plain.page.getByRole("button", {name: "Open the incident"}).press("Enter");
await plain.page.waitForURL("**/console/providers");
seen.said = await plain.page.getByText("<b>Slow</b> since noon.").count();

await browser.close();
tell(seen);
