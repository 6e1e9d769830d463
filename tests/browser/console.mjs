// The operator console in a browser: node console.mjs STEPS, where STEPS is JSON: {origin,
// credential, paths, screenshots?}. Signs in by keyboard, checks every path in both color schemes
// and three widths, submits a form without scripts, and signs out. Prints one JSON object of what
// it saw.
import {launch, newReader, problemsOf, shots} from "./browser.mjs";

const steps = JSON.parse(process.argv[2]);
const seen = {axe: [], sideways: [], errors: [], outside: [], titles: []};
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

const reader = await newOperator({});
await reader.page.goto(steps.origin + "/");
seen.first = new URL(reader.page.url()).pathname;
seen.axe.push(...await problemsOf(reader, "login"));
if (steps.screenshots) await shots(reader.page, steps.screenshots, "console-login");
await signIn(reader);
for (const path of steps.paths) {
  for (const colorScheme of ["light", "dark"]) {
    await reader.page.emulateMedia({colorScheme});
    for (const width of [1280, 390, 320]) {
      await reader.page.setViewportSize({width, height: 900});
      await reader.page.goto(steps.origin + path);
      const name = `${path} ${colorScheme} ${width}`;
      for (const one of await reader.page.locator("details").all()) {
        await one.evaluate((details) => { details.open = true; });
      }
      seen.axe.push(...await problemsOf(reader, name));
      const isWide = await reader.page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      if (isWide) seen.sideways.push(name);
      if (steps.screenshots) {
        const file = path.slice(1).replace(/=.*/, "").replace(/acc_\w+/, "account")
          .replaceAll(/[/?]/g, "-");
        await reader.page.screenshot(
          {path: `${steps.screenshots}/${file}-${colorScheme}-${width}.png`, fullPage: true});
      }
    }
  }
  seen.titles.push(await reader.page.title());
}
seen.cookieForScripts = await reader.page.evaluate(() => document.cookie);
await reader.page.setViewportSize({width: 1280, height: 900});
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
console.log(JSON.stringify(seen));
