// Checks pages as people get them. Its steps (steps.mjs):
//   {origin, cookies: {name: value}, pages: [{name, path, status?}], schemes: ["light", "dark"],
//    widths: [1280, 390], axe: [[scheme, width]], scripts: bool}
// A page is loaded once and then checked in each scheme and width, by axe in those of `axe`. Prints
// one JSON array with, for each page, its title, how many requests it took and what is wrong with
// it.
import {launch, problemsOf, tooWideOf} from "./browser.mjs";
import {steps, tell} from "./steps.mjs";

const browser = await launch();
const looks = [];
const pages = [...steps.pages];
await Promise.all([lookAtAll(), lookAtAll()]);
await browser.close();
tell(looks);

// Looks at one page after the other in one tab, since each tab is a new process. The cache is off,
// so a page is loaded as it is for a new visitor.
async function lookAtAll() {
  const context = await browser.newContext({javaScriptEnabled: steps.scripts ?? true});
  await context.addCookies(Object.entries(steps.cookies ?? {}).map(
    ([name, value]) => ({name, value, url: steps.origin})));
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);  // other tests run at the same time
  const client = await context.newCDPSession(page);
  await client.send("Network.enable");
  await client.send("Network.setCacheDisabled", {cacheDisabled: true});
  const tab = {page, client, look: null};
  listen(tab);
  for (let next = pages.shift(); next !== undefined; next = pages.shift()) {
    tab.look = {status: 200, ...next, requests: 0, problems: []};
    await lookAt(tab);
    looks.push(tab.look);
  }
  await context.close();
}

// Adds what the browser reports to the look that is being taken.
function listen(tab) {
  const say = (problem) => tab.look.problems.push(problem);
  tab.page.on("console", (message) => {
    // The browser also reports a page that is refused on purpose.
    const isOfTheStatus = tab.look.status >= 400 &&
      message.text().includes(`status of ${tab.look.status}`);
    if (["error", "warning"].includes(message.type()) && !isOfTheStatus) {
      say(`console: ${message.text()}`);
    }
  });
  tab.page.on("pageerror", (error) => say(`script: ${error.message}`));
  tab.page.on("request", (request) => {
    tab.look.requests += 1;
    const url = request.url();
    if (!url.startsWith(steps.origin + "/") && !url.startsWith("data:")) say(`outside: ${url}`);
  });
  tab.page.on("requestfailed", (request) => say(`failed: ${request.url()}`));
}

async function lookAt(tab) {
  const {page, look} = tab;
  await page.setViewportSize({width: steps.widths[0], height: 800});
  await page.emulateMedia({colorScheme: steps.schemes[0]});
  const reply = await page.goto(steps.origin + look.path);
  if (reply.status() !== look.status) {
    look.problems.push(`status: ${reply.status()}, not ${look.status}`);
  }
  const loaded = look.requests;
  for (const scheme of steps.schemes) {
    for (const width of steps.widths) {
      await page.emulateMedia({colorScheme: scheme});
      await page.setViewportSize({width, height: width > 600 ? 800 : 844});
      const hasAxe = steps.axe.some(([ofScheme, ofWidth]) =>
        ofScheme === scheme && ofWidth === width);
      const say = (problem) => look.problems.push(`${scheme} ${width}: ${problem}`);
      const elements = await tooWideOf(tab);
      if (elements) say(`sideways: ${elements}`);
      if (hasAxe) for (const problem of await problemsOf(tab)) say(`axe: ${problem}`);
      if (steps.screenshots) {
        await page.screenshot({path: `${steps.screenshots}/${look.name}-${scheme}-${width}.png`,
          fullPage: true});
      }
    }
  }
  look.title = await page.title();
  look.requests = loaded;
}
