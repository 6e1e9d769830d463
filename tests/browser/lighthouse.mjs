// Lighthouse on public pages: node lighthouse.mjs STEPS, where STEPS is JSON, or `-` and the JSON
// on standard input: {urls: [...]}. Prints one JSON array: of each URL the scores (0 to 100) by
// category, and the audits that failed.
import {readFileSync} from "node:fs";
import lighthouse from "lighthouse";
import {launch} from "chrome-launcher";

const steps = JSON.parse(process.argv[2] === "-" ? readFileSync(0, "utf8") : process.argv[2]);
const chrome = await launch({
  chromePath: process.env.TURNPIKE_CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  chromeFlags: ["--no-sandbox", "--disable-gpu", "--headless"],
});
const found = [];
for (const url of steps.urls) {
  let scores = await scoresOf(url);
  // On a busy machine the first look sometimes has no score for performance.
  if (scores.scores.performance === null) scores = await scoresOf(url);
  found.push(scores);
}
await chrome.kill();
console.log(JSON.stringify(found));

async function scoresOf(url) {
  const {lhr} = await lighthouse(url, {port: chrome.port, output: "json", logLevel: "error"});
  const scores = {};
  const failed = [];
  for (const [name, category] of Object.entries(lhr.categories)) {
    scores[name] = category.score === null ? null : Math.round(category.score * 100);
    for (const {id, weight} of category.auditRefs) {
      const audit = lhr.audits[id];
      if (weight > 0 && audit.score !== null && audit.score < 1) {
        failed.push(`${name}: ${id}: ${audit.displayValue ?? audit.title}`);
      }
    }
  }
  return {url, scores, failed};
}
