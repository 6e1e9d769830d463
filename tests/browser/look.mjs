// Checks pages as people get them: node look.mjs STEPS, where STEPS is JSON, or `-` with the JSON
// on standard input:
//   {origin, cookies: {name: value}, pages: [{name, path, status?}], schemes: ["light", "dark"],
//    widths: [1280, 390], axe: [[scheme, width]], scripts: bool, screenshots?: folder}
// A page is loaded once and then checked in each scheme and width, by axe in those of `axe`. Prints
// one JSON array with, for each page, how many requests it took and what is wrong with it.
import {mkdirSync, readFileSync} from "node:fs";
import {launch, problemsOf} from "./browser.mjs";

const steps = JSON.parse(process.argv[2] === "-" ? readFileSync(0, "utf8") : process.argv[2]);
if (steps.screenshots) mkdirSync(steps.screenshots, {recursive: true});
const browser = await launch();
const looks = [];
const pages = [...steps.pages];
await Promise.all([lookAtAll(), lookAtAll()]);
await browser.close();
console.log(JSON.stringify(looks));

async function lookAtAll() {
  for (let next = pages.shift(); next !== undefined; next = pages.shift()) {
    // Each page gets an empty cache, as for a new visitor.
    const context = await browser.newContext({javaScriptEnabled: steps.scripts ?? true});
    await context.addCookies(Object.entries(steps.cookies ?? {}).map(
      ([name, value]) => ({name, value, url: steps.origin})));
    looks.push(await lookAt(await context.newPage(), next));
    await context.close();
  }
}

async function lookAt(page, {name, path, status = 200}) {
  page.setDefaultTimeout(120_000);  // other tests run at the same time
  const client = await page.context().newCDPSession(page);
  const problems = [];
  let requests = 0;
  page.on("console", (message) => {
    // The browser also reports a page that is refused on purpose.
    const isOfTheStatus = status >= 400 && message.text().includes(`status of ${status}`);
    if (["error", "warning"].includes(message.type()) && !isOfTheStatus) {
      problems.push(`console: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  page.on("request", (request) => {
    requests += 1;
    const url = request.url();
    if (!url.startsWith(steps.origin + "/") && !url.startsWith("data:")) {
      problems.push(`outside: ${url}`);
    }
  });
  page.on("requestfailed", (request) => problems.push(`failed: ${request.url()}`));
  await page.setViewportSize({width: steps.widths[0], height: 800});
  await page.emulateMedia({colorScheme: steps.schemes[0]});
  const reply = await page.goto(steps.origin + path, {waitUntil: "load"});
  if (reply.status() !== status) problems.push(`status: ${reply.status()}, not ${status}`);
  const loaded = requests;
  for (const scheme of steps.schemes) {
    for (const width of steps.widths) {
      await page.emulateMedia({colorScheme: scheme});
      await page.setViewportSize({width, height: width > 600 ? 800 : 844});
      const hasAxe = steps.axe.some(([ofScheme, ofWidth]) =>
        ofScheme === scheme && ofWidth === width);
      const found = await problemsAt(page, client, hasAxe);
      problems.push(...found.map((problem) => `${scheme} ${width}: ${problem}`));
      if (steps.screenshots) {
        await page.screenshot({path: `${steps.screenshots}/${name}-${scheme}-${width}.png`,
          fullPage: true});
      }
    }
  }
  return {name, path, requests: loaded, problems};
}

async function problemsAt(page, client, hasAxe) {
  const problems = [];
  const asked = await client.send("Runtime.evaluate", {returnByValue: true, expression: `(() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return "";
    return [...document.querySelectorAll("body *")]
      .filter((e) => e.getBoundingClientRect().right > room + 0.5).slice(0, 3)
      .map((e) => e.outerHTML.slice(0, 120)).join(" ; ") || "something";
  })()`});
  if (asked.result.value) problems.push(`sideways: ${asked.result.value}`);
  if (hasAxe) problems.push(...await problemsOf({page, client}, "axe"));
  return problems;
}
