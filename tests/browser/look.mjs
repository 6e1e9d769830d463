// Looks at pages as people get them: node look.mjs STEPS, where STEPS is JSON:
//   {origin, cookies: {name: value}, pages: [{name, path, status?}], schemes: ["light", "dark"],
//    widths: [1280, 390], axe: bool, scripts: bool, screenshots?: folder}
// Prints one JSON array: of each page, scheme and width what is wrong with it, and what loading it
// took.
import {mkdirSync} from "node:fs";
import {launch, problemsOf} from "./browser.mjs";

const steps = JSON.parse(process.argv[2]);
const browser = await launch();
const looks = [];
if (steps.screenshots) mkdirSync(steps.screenshots, {recursive: true});

for (const scheme of steps.schemes) {
  for (const width of steps.widths) {
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: {width, height: width > 600 ? 800 : 844},
      javaScriptEnabled: steps.scripts ?? true,
    });
    await context.addCookies(Object.entries(steps.cookies ?? {}).map(
      ([name, value]) => ({name, value, url: steps.origin})));
    for (const {name, path, status = 200} of steps.pages) {
      looks.push(await lookAt(context, {name, path, status, scheme, width}));
    }
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(looks));

async function lookAt(context, {name, path, status, scheme, width}) {
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  const problems = [];
  let requests = 0;
  page.on("console", (message) => {
    // A page that is refused on purpose is told of by the browser, too.
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
  const reply = await page.goto(steps.origin + path, {waitUntil: "load"});
  if (reply.status() !== status) problems.push(`status: ${reply.status()}, not ${status}`);
  await page.evaluate(() => document.fonts.ready).catch(() => {});
  const overflow = await client.send("Runtime.evaluate", {returnByValue: true, expression:
    "document.documentElement.scrollWidth - document.documentElement.clientWidth"});
  if (overflow.result.value > 0) {
    const wide = await client.send("Runtime.evaluate", {returnByValue: true, expression:
      "[...document.querySelectorAll('body *')].filter((e) => " +
      "e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).slice(-3)" +
      ".map((e) => e.outerHTML.slice(0, 120)).join(' ; ')"});
    problems.push(`sideways: ${overflow.result.value} px: ${wide.result.value}`);
  }
  if (steps.axe && steps.scripts !== false) {
    problems.push(...await problemsOf({page, client}, "axe"));
  }
  if (steps.screenshots) {
    await page.screenshot({path: `${steps.screenshots}/${name}-${scheme}-${width}.png`,
      fullPage: true});
  }
  await page.close();
  return {name, path, scheme, width, requests, problems};
}
