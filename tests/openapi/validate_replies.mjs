// Validates replies against the JSON Schemas that a catalog publishes with its operations. Standard
// input: one line of JSON each, {"schema": NAME, "definition": SCHEMA} before its uses, {"schema":
// NAME, "name", "body": VALUE} for each reply. Standard output: one line of JSON for each reply
// that does not conform, and a last one {"checked": N}.
//
// Members that a schema does not name are an error here, although callers must allow for them: the
// schemas are meant to be complete.
import { createInterface } from "node:readline";
import Ajv2020 from "ajv/dist/2020.js";

function closed(schema) {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== "object") return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [
    key, key === "enum" || key === "required" ? value : closed(value)]));
  if (schema.type === "object" && schema.properties) copy.additionalProperties = false;
  return copy;
}

const validators = new Map();
let checked = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { schema, definition, name, body } = JSON.parse(line);
  if (definition !== undefined) {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
    validators.set(schema, ajv.compile(closed(definition)));
    continue;
  }
  const validate = validators.get(schema);
  checked += 1;
  if (validate(body)) continue;
  const errors = validate.errors.slice(0, 5).map((error) =>
    `${error.instancePath || "/"} ${error.message} ${JSON.stringify(error.params)}`);
  console.log(JSON.stringify({ name, errors }));
}
console.log(JSON.stringify({ checked }));
