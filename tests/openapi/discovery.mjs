// Validates the documents by which programs find a gateway: against JSON Schemas with ajv, and
// catalogs for agents with the checks that Lighthouse runs (installed in tests/browser). Standard
// input: [{"name", "schema": PATH | "ard" | "2020-12", "body": TEXT}], where "2020-12" means that
// the body must itself be a JSON Schema; standard output: one line of JSON for each, with the
// errors and warnings.
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const folder = new URL("../browser/node_modules/lighthouse/third-party/ard/", import.meta.url);
const { ConformanceTester } = await import(new URL("ard.js", folder));
const ard = JSON.parse(readFileSync(new URL("spec/schemas/ai-catalog.schema.json", folder)));

function validated(schema, body) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  const validate = ajv.compile(schema);
  const value = JSON.parse(body);
  if (validate(value)) return [];
  return validate.errors.map((error) =>
    `${error.instancePath || "/"} ${error.message} ${JSON.stringify(error.params)}`);
}

for (const { name, schema, body } of JSON.parse(await text(process.stdin))) {
  let errors;
  let warnings = [];
  if (schema === "ard") {
    errors = validated(ard, body);
    const tester = new ConformanceTester();
    tester.validate_manifest(body, name);
    errors.push(...tester.errors.map((one) => `${one.element}: ${one.message}`));
    warnings = tester.warnings.map((one) => `${one.element}: ${one.message}`);
  } else if (schema === "2020-12") {
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
    addFormats(ajv);
    errors = [];
    try {
      ajv.compile(JSON.parse(body));
    } catch (error) {
      errors.push(String(error));
    }
  } else {
    errors = validated(JSON.parse(readFileSync(schema)), body);
  }
  console.log(JSON.stringify({ name, errors, warnings }));
}
