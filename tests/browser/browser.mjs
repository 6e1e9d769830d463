// Shared by the walks through the pages: Debian's Chromium, the calling test's turn, and the check
// of a page with axe-core.
import {once} from "node:events";
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {createInterface} from "node:readline";
import {chromium} from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CHROMIUM = process.env.TURNPIKE_CHROMIUM ?? "/usr/bin/chromium-headless-shell";

export const launch = () => chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});

// A page in a context of its own: {context, page, client}. Errors of its scripts and of the browser
// are added to `errors`.
export async function newReader(browser, options, errors) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => errors.push(`${page.url()}: ${error}`));
  return {context, page, client: await context.newCDPSession(page)};
}

// Lets the calling test do what the walk itself cannot: prints `what`, and continues when a line
// arrives.
export async function letTest(what) {
  const input = createInterface({input: process.stdin});
  console.log(what);
  await once(input, "line");
  input.close();
}

// Accessibility problems of a page. The page's policy forbids foreign scripts, so axe runs in the
// isolated world of the debugger. `person`: {page, client}.
export async function problemsOf(person, name) {
  await person.page.waitForLoadState("load");
  const {frameTree} = await person.client.send("Page.getFrameTree");
  const {executionContextId} = await person.client.send("Page.createIsolatedWorld",
    {frameId: frameTree.frame.id, worldName: "axe"});
  await person.client.send("Runtime.evaluate", {expression: axe, contextId: executionContextId});
  const {result} = await person.client.send("Runtime.evaluate", {
    expression: "axe.run().then((r) => JSON.stringify(r.violations.map((v) => " +
      "v.id + ': ' + v.nodes.map((n) => n.html).join(' ; '))))",
    contextId: executionContextId, awaitPromise: true, returnByValue: true});
  return JSON.parse(result.value).map((problem) => `${name}: ${problem}`);
}

// Signs in with a single-use link and sets a password, as a new person does. Without scripts the
// page takes the token in a field.
export async function signIn(page, link, script = true) {
  const press = (label) => page.getByRole("button", {name: label, exact: true}).click();
  await page.goto(link);
  if (!script) await page.locator("#token").fill(link.split("#")[1]);
  await press("Sign in");
  await page.waitForURL("**/account");
  await page.locator("#new-password").fill("rivers carry seven lamps");
  await press("Set a password");
  await page.getByRole("heading", {name: "A password is set"}).waitFor();
}

// Screenshots of a page for people to look at: light and dark, wide and narrow.
export async function shots(page, folder, name) {
  const before = page.viewportSize();
  for (const width of [1280, 390, 320]) {
    await page.setViewportSize({width, height: 800});
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({colorScheme});
      const path = `${folder}/${name}-${colorScheme}-${width}.png`;
      await page.screenshot({path, fullPage: true});
    }
  }
  await page.emulateMedia({colorScheme: "light"});
  await page.setViewportSize(before);
}
