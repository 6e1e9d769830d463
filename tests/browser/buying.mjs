// Buying Credits by card. Steps: {origin, people: [{name, link, account, script, looks}]}. Each
// person takes the same path, with or without scripts, to the checkout page of the fake Stripe
// (tests/e2e/fake_checkout.py) and back; axe-core checks the pages of those who look. Prints "pay"
// before money moves and "returned" once the browser is back, and continues when a line arrives.
// Finally prints one JSON array of what each person saw.
import {launch, look as lookAt, newReader, signIn} from "./browser.mjs";
import {letTest, steps, tell} from "./steps.mjs";

const DECLINED = "4000 0000 0000 9995";
const WAIT_MS = 60_000;

const browser = await launch();

async function walk({name, link, account, script, looks}) {
  const seen = {axe: [], sideways: [], errors: [], sums: {}, loads: 0};
  const options = {javaScriptEnabled: script};
  const {context, page, client} = await newReader(browser, options, seen.errors);
  page.setDefaultTimeout(WAIT_MS);
  const dashboard = `${steps.origin}/dashboard/${account}`;
  page.on("response", (reply) => {
    if (reply.request().isNavigationRequest()) seen.loads += 1;
  });

  const path = () => new URL(page.url()).pathname;
  const text = async (selector) => (await page.locator(selector).first().innerText()).trim();
  const press = (label) => page.getByRole("button", {name: label, exact: true}).click();
  const follow = (label) => page.getByRole("link", {name: label, exact: true}).click();
  const isAtCheckout = (url) => url.origin !== steps.origin && url.pathname.startsWith("/pay/");
  const isAtPurchase = (url) => url.origin === steps.origin && /\/pur_\w+$/.test(url.pathname);
  const fact = (term) =>
    page.locator("dt", {hasText: new RegExp(`^${term}$`)}).locator("+ dd").innerText();

  async function look(what, at = {page, client}) {
    if (looks) await lookAt(at, what, seen, steps.screenshots, `buying-${what}`);
  }

  // The page of an open purchase reloads itself. That could end what the walk begins right then, so
  // a tab (its `client`) keeps the header field Refresh only while it `waits()` for that. Routes of
  // Playwright do not see the pages that a redirect leads to.
  async function keepStill(client, waits) {
    client.on("Fetch.requestPaused", ({requestId, responseStatusCode, responseHeaders}) =>
      client.send("Fetch.continueResponse", {requestId, responseCode: responseStatusCode,
        responseHeaders: responseHeaders.filter(
          ({name}) => waits() || name.toLowerCase() !== "refresh")})
        .catch(() => undefined));  // the tab is closed
    await client.send("Fetch.enable",
      {patterns: [{urlPattern: "*/purchases/pur_*", requestStage: "Response"}]});
  }
  let waits = false;
  await keepStill(client, () => waits);

  // Looks at the page that the walk waits on, in a second tab.
  async function lookWhileItWaits(what) {
    if (!looks) return;
    const still = {page: await context.newPage()};
    still.client = await context.newCDPSession(still.page);
    await keepStill(still.client, () => false);
    await still.page.goto(steps.origin + path());
    await look(what, still);
    await still.page.close();
  }

  // What the page says that an amount buys, before the purchase is submitted.
  async function sumOf(amount) {
    if (script) {
      await page.locator("#amount").fill(amount);
    } else {
      await page.locator("#asked").fill(amount);
      await press("How many Credits?");
    }
    return text("#sum");
  }

  async function begin(amount) {
    await page.goto(dashboard + "/purchases");
    await page.locator("#amount").fill(amount);
    await press("Buy Credits");
    await page.waitForURL(isAtCheckout);
    return text("h1");
  }

  // ---- sign-in
  await signIn(page, link, script);

  // ---- an amount, and what it buys
  await page.goto(dashboard + "/purchases");
  await look("nothing-yet");
  seen.usual = [await page.locator("#amount").inputValue(), await text("#sum")];
  for (const amount of ["12.3", "0.10", "1", "12.35", "1000.10", "1,000", "much"]) {
    seen.sums[amount] = await sumOf(amount);
  }
  if (script) {
    await page.locator("#amount").fill("12.35");
    await look("no-amount");
  }

  // ---- begun, declined, abandoned and resumed
  seen.checkout = await begin("12.30");
  await press("Decline");
  seen.declined = [isAtCheckout(new URL(page.url())), await text("[role=alert]")];
  await page.locator("[name=number]").fill(DECLINED);
  await press("Pay");
  seen.declinedAgain = await text("[role=alert]");
  await press("Cancel");
  await page.waitForURL(isAtPurchase);
  seen.cancelled = [await text(".ticket .state"), await page.locator("main a.button").innerText()];
  seen.first = path().split("/").at(-1);
  await look("cancelled");
  await page.goto(dashboard + "/purchases");
  seen.open = await page.locator("section[aria-labelledby=open] tbody tr").allInnerTexts();
  await look("open");
  await page.getByRole("link", {name: /^Go on to pay/}).click();
  await page.waitForURL(isAtCheckout);

  // ---- paid; the page of the purchase reloads by itself
  waits = true;
  await letTest("pay");
  await press("Pay");
  await page.waitForURL(isAtPurchase);
  seen.returned = [new URL(page.url()).search, await text(".ticket .state"),
    await page.getByText("by itself every").count()];
  await lookWhileItWaits("returned");
  seen.loads = 0;
  await letTest("returned");
  await page.locator(".ticket .state", {hasText: "paid and credited"}).waitFor();
  seen.loadsByItself = seen.loads;
  waits = false;
  seen.credited = [path().split("/").at(-1), await text("h1"), await fact("Credits"),
    await fact("Amount")];
  await look("credited");
  const lastPage = page.url();

  // ---- its documents are at the payment service
  seen.documents = [];
  for (const label of ["Invoice", "Invoice as PDF", "Receipt"]) {
    await page.goto(lastPage);
    await follow(label);
    await page.waitForURL((url) => url.origin !== steps.origin);
    seen.documents.push(path());
  }

  // ---- what the account has now
  await page.goto(dashboard + "/purchases");
  seen.history = await page.locator("section[aria-labelledby=history] tbody tr").allInnerTexts();
  await look("history");
  await page.goto(dashboard + "/billing");
  seen.balance = await text(".figure");
  seen.statement = await page.getByRole("region", {name: "Statement"}).innerText();
  seen.invoices = await page.getByRole("region", {name: "Invoices"}).locator("tbody tr")
    .allInnerTexts();
  await look("billing");

  // ---- another purchase is declined and stays unpaid
  await begin("1");
  await press("Decline");
  await press("Cancel");
  await page.waitForURL(isAtPurchase);
  seen.second = path().split("/").at(-1);
  await page.goto(dashboard + "/billing");
  seen.balanceAfterDecline = await text(".figure");

  // ---- one is paid at once, as most are
  await begin("2.50");
  waits = true;
  await letTest("pay");
  await press("Pay");
  await page.waitForURL(isAtPurchase);
  await letTest("returned");
  await page.locator(".ticket .state", {hasText: "paid and credited"}).waitFor();
  await page.goto(dashboard + "/billing");
  seen.balanceAtLast = await text(".figure");
  await context.close();
  return {name, ...seen};
}

const all = [];
for (const person of steps.people) all.push(await walk(person));
await browser.close();
tell(all);
