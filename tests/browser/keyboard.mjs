// People who use only the keyboard. Steps: {origin, people: [{link, account, script}]}. Each signs
// in by link, sets a password, makes a key and an invitation, filters the calls and reads one in
// the inspector. Everything is reached with the Tab key and operated with the browser's standard
// keys. Prints a JSON array of what each person saw.
import {launch} from "./browser.mjs";
import {steps, tell} from "./steps.mjs";

const PASSWORD = "rivers carry seven lamps";
const TABS_MAX = 120;

// Runs in the page. Says why people cannot see that the element has the focus, or "".
function whyUnseen(element) {
  const name = `${element.localName} "${element.innerText || element.name || element.id}"`;
  const style = getComputedStyle(element);
  if (!element.matches(":focus-visible")) return `${name} does not show the focus`;
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) {
    return `${name} has no ring`;
  }
  const box = element.getClientRects()[0];
  if (!box || box.width === 0 || box.height === 0) return `${name} has no size`;
  const middle = (from, to, most) => (Math.max(from, 0) + Math.min(to, most)) / 2;
  const top = document.elementFromPoint(middle(box.left, box.right, innerWidth),
    middle(box.top, box.bottom, innerHeight));
  return top && element.contains(top) ? "" : `${name} is not in view`;
}

const browser = await launch();

async function walk({link, account, script}) {
  // Motion is reduced, so that a focused element is in view at once.
  const context = await browser.newContext({javaScriptEnabled: script, reducedMotion: "reduce"});
  const page = await context.newPage();
  const seen = {unseenFocus: [], urls: []};
  page.on("request", (request) => seen.urls.push(request.url()));
  page.on("console", (message) => {
    if (message.type() === "error") seen.urls.push(message.text());
  });

  // Presses Tab until the element has the focus, which must be visible at each step.
  async function reach(locator) {
    for (let tab = 0; tab < TABS_MAX; ++tab) {
      await page.keyboard.press("Tab");
      const focused = page.locator(":focus");
      if (await focused.count() === 1) {
        const problem = await focused.evaluate(whyUnseen);
        if (problem) seen.unseenFocus.push(`${new URL(page.url()).pathname}: ${problem}`);
      }
      if (await locator.and(page.locator(":focus")).count() === 1) return;
    }
    throw new Error(`the keyboard does not reach ${locator}`);
  }
  const button = (name) => page.getByRole("button", {name, exact: true});
  async function press(locator) {
    await reach(locator);
    await page.keyboard.press("Enter");
  }
  async function type(locator, text) {
    await reach(locator);
    await page.keyboard.type(text);
  }

  await page.goto(link);
  await reach(page.getByRole("link", {name: "To the content"}));
  if (!script) await type(page.locator("#token"), link.split("#")[1]);
  await press(button("Sign in"));
  await page.waitForURL("**/account");
  await type(page.locator("#new-password"), PASSWORD);
  await press(button("Set a password"));
  await page.waitForLoadState();
  await page.getByRole("heading", {name: "A password is set"}).waitFor();
  await press(page.getByRole("link", {name: account, exact: true}));
  await page.waitForURL("**/dashboard/*");
  await press(page.getByRole("link", {name: "Keys", exact: true}));
  await page.waitForURL("**/keys");
  await type(page.locator("#key-name"), "research");
  await type(page.locator("#cap-per-day"), "7");
  await press(button("Create an API key"));
  await page.locator("#secret").waitFor();
  seen.key = await page.locator("#secret").textContent();
  await press(page.getByRole("link", {name: "Members", exact: true}));
  await page.waitForURL("**/members");
  await reach(page.locator("#invitation-role"));
  await page.keyboard.press("ArrowDown");
  await press(button("Invite somebody"));
  await page.locator("#secret").waitFor();
  seen.invitation = await page.locator("#secret").textContent();
  await press(page.getByRole("link", {name: "Back", exact: true}));
  await page.waitForURL("**/members");
  seen.invited = await page.getByRole("cell", {name: "admin", exact: true}).count();

  // ---- the inspector
  const main = page.getByRole("main");
  const rows = () => main.locator("tbody tr").count();
  await press(page.getByRole("link", {name: "Calls", exact: true}));
  await page.waitForURL("**/calls");
  seen.calls = await rows();
  await reach(page.locator("#outcome"));
  await page.keyboard.type("released");
  await press(button("Filter"));
  await page.waitForURL("**/calls?*outcome=released*");
  seen.released = await rows();
  await press(main.locator("td.id").getByRole("link"));
  await page.waitForURL("**/calls/*-*");
  seen.inspector = await main.innerText();
  await press(main.getByRole("link", {name: "Calls", exact: true}));
  await page.waitForURL("**/calls");
  seen.callsAgain = await rows();
  return seen;
}

const all = [];
for (const person of steps.people) all.push(await walk(person));
await browser.close();
tell(all);
