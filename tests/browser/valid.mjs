// Checks pages against the HTML standard. Steps: {pages: {path: html}}. Prints a JSON array of
// findings.
import {HtmlValidate} from "html-validate";
import {steps, tell} from "./steps.mjs";

const validator = new HtmlValidate({
  extends: ["html-validate:standard"],
  rules: {
    // Rules that only concern style.
    "no-trailing-whitespace": "off",
    "long-title": "off",
    "void-style": "off",
    "doctype-style": "off",
    "no-inline-style": "error",
  },
});
const found = [];
for (const [path, text] of Object.entries(steps.pages)) {
  const report = await validator.validateString(text, path);
  for (const result of report.results) {
    for (const message of result.messages) {
      found.push(`${path}:${message.line}: ${message.ruleId}: ${message.message}`);
    }
  }
}
tell(found);
