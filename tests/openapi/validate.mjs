// Validates the documents that a catalog publishes against the schemas that it publishes, and the
// examples in those schemas. usage: validate.mjs FOLDER
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const folder = process.argv[2];
const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
let failures = 0;
let checked = 0;

function check(what, validate, value) {
  checked += 1;
  if (validate(value)) return;
  failures += 1;
  console.error(`${what}:`);
  for (const error of validate.errors.slice(0, 5)) {
    const params = JSON.stringify(error.params);
    console.error(`  ${error.instancePath || "/"} ${error.message} ${params}`);
  }
}

for (const name of readdirSync(folder).filter((file) => file.startsWith("openapi"))) {
  const openapi = read(name);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema({ $id: "openapi", components: openapi.components });
  const schema = (of) => ajv.compile({ $ref: `openapi#/components/schemas/${of}` });

  for (const [of, definition] of Object.entries(openapi.components.schemas)) {
    const validate = schema(of);
    for (const example of definition.examples ?? []) {
      check(`${name} example of ${of}`, validate, example);
    }
  }
  // Checks the examples of parameters against the parameters' own schemas.
  for (const [path, item] of Object.entries(openapi.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      for (const parameter of operation.parameters ?? []) {
        const validate = ajv.compile(parameter.schema);
        if ("example" in parameter) {
          check(`${method} ${path} ${parameter.name}`, validate, parameter.example);
        }
      }
    }
  }
  const suffix = name.slice("openapi".length);
  const documents = readdirSync(folder).filter((file) => file.endsWith(suffix));
  for (const file of documents) {
    if (file.startsWith("page")) check(file, schema("PublicCapabilityPage"), read(file));
    if (file.startsWith("detail")) check(file, schema("PublicCapabilityDetail"), read(file));
    if (file.startsWith("inventory")) check(file, schema("OperationPricingInventory"), read(file));
    const named = file.match(/^([A-Z]\w+)\./)?.[1];
    if (named) check(file, schema(named), read(file));
  }
}
console.log(`${checked} documents and examples checked, ${failures} failed`);
process.exit(failures === 0 && checked > 0 ? 0 : 1);
