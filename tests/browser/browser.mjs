// Shared by the walks through the pages: Debian's Chromium, and the look at a page, by axe-core and
// for people.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {chromium} from "playwright-core";

// In ASCII, since a character beyond Latin-1 would double what the browser copies each time.
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
  .replaceAll(/[^\0-\x7f]/g, (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"));

const CHROMIUM = process.env.TURNPIKE_CHROMIUM ?? "/usr/bin/chromium-headless-shell";

// Most scripts of pages run once, so V8 would spend more time optimizing them than they save.
export const launch = () => chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--js-flags=--no-opt --no-maglev"],
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

// Looks at the page in a person's tab ({page, client}): in the light scheme on a wide screen and in
// the dark one on a narrow one by axe, on these and a very narrow one for whether it scrolls
// sideways. Adds what is wrong to seen.axe and seen.sideways. Takes pictures into `folder`, if
// given, as FILE-SCHEME-WIDTH.
export async function look(tab, name, seen, folder, file = name) {
  const {page} = tab;
  const before = page.viewportSize();
  for (const [colorScheme, width, hasAxe] of [
    ["light", before.width, true], ["dark", 390, true], ["light", 320, false]]) {
    const at = `${name}, ${colorScheme}, ${width} px: `;
    await page.emulateMedia({colorScheme});
    await page.setViewportSize({width, height: 800});
    if (hasAxe) seen.axe.push(...(await problemsOf(tab)).map((problem) => at + problem));
    const elements = await tooWideOf(tab);
    if (elements) seen.sideways.push(at + elements);
  }
  await page.setViewportSize(before);
  if (folder) await shots(page, folder, file);
}

// Accessibility problems of the page in a tab. Its policy forbids foreign scripts, so axe runs in
// the isolated world of the debugger. The document keeps that world: to load axe takes as long as
// to run it.
export async function problemsOf({page, client}) {
  await page.waitForLoadState("load");
  const {frameTree} = await client.send("Page.getFrameTree");
  const {executionContextId} = await client.send("Page.createIsolatedWorld",
    {frameId: frameTree.frame.id, worldName: "axe"});
  const evaluate = async (expression) => (await client.send("Runtime.evaluate", {
    expression, contextId: executionContextId, awaitPromise: true, returnByValue: true})).result;
  if ((await evaluate("typeof axe")).value === "undefined") await evaluate(axe + "; true");
  const result = await evaluate("axe.run().then((r) => JSON.stringify(r.violations.map((v) => " +
    "v.id + ': ' + v.nodes.map((n) => n.html).join(' ; '))))");
  return JSON.parse(result.value);
}

// Elements that make the page in a tab scroll sideways; "" if it does not.
export async function tooWideOf({client}) {
  const {result} = await client.send("Runtime.evaluate", {returnByValue: true, expression: `(() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return "";
    return [...document.querySelectorAll("body *")]
      .filter((e) => e.getBoundingClientRect().right > room + 0.5).slice(0, 3)
      .map((e) => e.outerHTML.slice(0, 120)).join(" ; ") || "something";
  })()`});
  return result.value;
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
async function shots(page, folder, name) {
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
