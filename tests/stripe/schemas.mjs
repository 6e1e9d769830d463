// Writes the JSON Schemas of types.ts to a file: node schemas.mjs FILE.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import TJS from "typescript-json-schema";

const source = fileURLToPath(new URL("types.ts", import.meta.url));
const program = TJS.getProgramFromFiles([source], {
  module: "nodenext",
  moduleResolution: "nodenext",
  target: "es2022",
  strictNullChecks: true,
  skipLibCheck: true,
  types: [],
});
const schema = TJS.generateSchema(program, "TurnpikeTypes", {
  required: true,
  strictNullChecks: true,
  noExtraProps: true,
  ignoreErrors: true,
  esModuleInterop: true,
});
if (schema === null) throw new Error("the types of Stripe's client were not read");

// Repairs the generated schema. An empty union accepts nothing, which JSON Schema writes as "not".
// Descriptions are dropped, because they are for people. Decimals (below) are objects of the client
// but strings on the wire. A union with "any other string" is a string, whatever else it lists.
function mend(node) {
  if (Array.isArray(node)) return node.map(mend);
  if (node === null || typeof node !== "object") return node;
  const mended = {};
  for (const [name, value] of Object.entries(node)) {
    if (name === "description" && typeof value === "string") continue;
    if (name === "$schema") continue;
    if (name === "anyOf" && value.length === 0) mended.not = {};
    else mended[name] = mend(value);
  }
  return mended;
}

const mended = mend(schema);
for (const name of Object.keys(mended.definitions)) {
  if (/(^|\.)Decimal/.test(name)) mended.definitions[name] = { type: "string" };
}
writeFileSync(process.argv[2], JSON.stringify(mended));
