// Accessibility problems of pages: node pages.mjs STEPS, where STEPS is JSON: {origin, session,
// paths}. `session` is the cookie of a person, or empty. Prints a JSON array of axe's findings for
// each page.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {chromium} from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const steps = JSON.parse(process.argv[2]);
const browser = await chromium.launch({
  executablePath: process.env.TURNPIKE_CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-gpu"],
});
const context = await browser.newContext();
if (steps.session) {
  await context.addCookies([{name: "turnpike_session", value: steps.session, url: steps.origin}]);
}
const page = await context.newPage();
const client = await context.newCDPSession(page);
const found = [];
for (const path of steps.paths) {
  await page.goto(steps.origin + path);
  const {frameTree} = await client.send("Page.getFrameTree");
  // The page's policy forbids foreign scripts, so axe runs in the debugger's isolated world.
  const {executionContextId} = await client.send("Page.createIsolatedWorld",
    {frameId: frameTree.frame.id, worldName: "axe"});
  await client.send("Runtime.evaluate", {expression: axe, contextId: executionContextId});
  const {result} = await client.send("Runtime.evaluate", {
    expression: "axe.run().then((r) => JSON.stringify([document.title, r.violations.map((v) => " +
      "v.id + ': ' + v.nodes.map((n) => n.html).join(' ; '))]))",
    contextId: executionContextId, awaitPromise: true, returnByValue: true});
  const [title, problems] = JSON.parse(result.value);
  found.push({path, title, problems});
}
await browser.close();
console.log(JSON.stringify(found));
