// Auto Top-Up. Steps: {origin, people: [{name, link, account, script}]}. Each person saves a card
// at the checkout page of the fake Stripe (tests/e2e/fake_checkout.py), turns Auto Top-Up on, sees
// its effects, and turns it off; axe-core checks the pages of people with scripts. Prints "spend"
// once it is on and "break" when the card must fail, and continues when a line arrives. Finally
// prints one JSON array of what each person saw.
import {launch, look as lookAt, newReader, signIn} from "./browser.mjs";
import {letTest, steps, tell} from "./steps.mjs";

const WAIT_MS = 60_000;
const LOOKS_MAX = 100;
const LOOK_EACH_MS = 500;

const browser = await launch();

async function walk({name, link, account, script}) {
  const seen = {axe: [], sideways: [], errors: []};
  const options = {javaScriptEnabled: script};
  const {context, page, client} = await newReader(browser, options, seen.errors);
  page.setDefaultTimeout(WAIT_MS);
  const dashboard = `${steps.origin}/dashboard/${account}`;

  const text = async (selector) => (await page.locator(selector).first().innerText()).trim();
  const press = (label) => page.getByRole("button", {name: label, exact: true}).click();
  const fact = async (term) => (await page.locator("dt", {hasText: new RegExp(`^${term}$`)})
    .locator("+ dd").innerText()).trim();
  const open = () => page.goto(dashboard + "/auto-top-up");

  async function look(what) {
    if (script) await lookAt({page, client}, what, seen, steps.screenshots, `top-up-${what}`);
  }

  // Reloads the page until the fact says `words`. Returns the fact's last text.
  async function until(term, words) {
    for (let at = 0; at < LOOKS_MAX; ++at) {
      await open();
      const isThere = await page.locator("dt", {hasText: term}).count() > 0;
      if (isThere && (await fact(term)).includes(words)) break;
      await page.waitForTimeout(LOOK_EACH_MS);
    }
    return fact(term);
  }

  await signIn(page, link, script);
  await open();
  seen.first = [await fact("State"), await fact("Policy")];
  await look("nothing-yet");

  // ---- a policy needs a method
  await page.locator("#enabled").check();
  await press("Save the policy");
  seen.withoutMethod = await text("[role=alert]");

  // ---- a card is saved at the payment service
  await open();
  await press("Save a method: Card");
  await page.waitForURL((url) => url.origin !== steps.origin);
  seen.checkout = await text("h1");
  await press("Save card");
  await page.waitForURL((url) => url.origin === steps.origin && /\/pms_\w+$/.test(url.pathname));
  await page.locator(".ticket .state", {hasText: /^saved$/}).waitFor();
  seen.saved = await text("h1");
  await look("saved");

  // ---- Auto Top-Up is turned on
  await open();
  await page.getByRole("radio").first().check();
  await page.locator("#enabled").check();
  await page.locator("#threshold").fill("20,000");
  await press("Save the policy");
  seen.tooSmall = await text("[role=alert]");
  seen.kept = await page.locator("#threshold").inputValue();
  await look("refused");
  await page.locator("#threshold").fill("2,000");
  await press("Save the policy");
  await page.locator(".ticket .state", {hasText: /^on$/}).waitFor();
  seen.on = [await fact("State"), await fact("Policy"), await fact("Charges"),
    await fact("Balance")];
  await look("on");

  // ---- calls spend Credits until few are left
  await letTest("spend");
  seen.run = await until("Last top-up", "credited");
  seen.after = [await fact("Balance"), await fact("Spent by it this month")];
  await look("topped-up");
  await page.locator("dd a.target").first().click();
  seen.purchase = [await text("h1"), await text(".ticket .state")];

  // ---- the card fails, and the pages say so
  await letTest("break");
  seen.paused = await until("State", "paused");
  seen.why = await text("p.alert");
  await look("paused");
  await page.goto(dashboard);
  seen.overview = await text("p.alert");
  await look("overview-paused");

  // ---- off
  await open();
  await page.locator("#enabled").uncheck();
  await press("Save the policy");
  await page.locator(".ticket .state", {hasText: /^off$/}).waitFor();
  seen.off = await fact("Policy");
  seen.revisions = await page.getByRole("region", {name: "Revisions of the policy"})
    .locator("tbody tr").allInnerTexts();
  await look("off");

  // ---- the card is removed
  await page.getByRole("region", {name: "Saved methods of payment"}).locator("a").first().click();
  await press("Remove this method");
  await page.locator(".ticket .state", {hasText: /^removed$/}).waitFor();
  seen.removed = await text("main section + p");
  await look("removed");
  await context.close();
  return {name, ...seen};
}

const all = [];
for (const person of steps.people) all.push(await walk(person));
await browser.close();
tell(all);
