// People with a keyboard and nothing else: node keyboard.mjs STEPS, where STEPS is JSON: {origin,
// people: [{link, account, script}]}. Each signs in by link, sets a password, makes a key and an
// invitation; everything is reached with the Tab key and used with the keys that browsers give it.
// Prints a JSON array of what each saw.
import {launch} from "./browser.mjs";

const PASSWORD = "rivers carry seven lamps";
const TABS_MAX = 120;

const steps = JSON.parse(process.argv[2]);
const browser = await launch();

async function walk({link, account, script}) {
  const context = await browser.newContext({javaScriptEnabled: script});
  const page = await context.newPage();
  const seen = {unseenFocus: [], urls: []};
  page.on("request", (request) => seen.urls.push(request.url()));
  page.on("console", (message) => {
    if (message.type() === "error") seen.urls.push(message.text());
  });

  // Goes on with Tab until the element has the focus, which must be seen on the way.
  async function reach(locator) {
    for (let tab = 0; tab < TABS_MAX; ++tab) {
      await page.keyboard.press("Tab");
      const focused = page.locator(":focus");
      if (await focused.count() === 1 && !await focused.isVisible()) {
        seen.unseenFocus.push(await focused.innerText());
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
  return seen;
}

const all = [];
for (const person of steps.people) all.push(await walk(person));
await browser.close();
console.log(JSON.stringify(all));
