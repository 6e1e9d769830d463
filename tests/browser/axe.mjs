// What a screen reader would stumble over on a page. The page's policy forbids scripts of others,
// so axe is run in the isolated world of the debugger.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The violations on the page that is open; `client` is its CDP session. */
export async function violationsOf(page, client) {
  await page.waitForLoadState("load");
  const {frameTree} = await client.send("Page.getFrameTree");
  const {executionContextId} = await client.send("Page.createIsolatedWorld",
    {frameId: frameTree.frame.id, worldName: "axe"});
  await client.send("Runtime.evaluate", {expression: axe, contextId: executionContextId});
  const {result} = await client.send("Runtime.evaluate", {
    expression: "axe.run().then((r) => JSON.stringify(r.violations.map((v) => " +
      "v.id + ': ' + v.nodes.map((n) => n.html).join(' ; '))))",
    contextId: executionContextId, awaitPromise: true, returnByValue: true});
  return JSON.parse(result.value);
}
