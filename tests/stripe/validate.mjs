// Checks recordings of requests and replies against the schemas: node validate.mjs SCHEMAS
// RECORDINGS. Prints a JSON list with an object for each recording: how many were checked against
// each type, and what does not conform.
import { readFileSync } from "node:fs";
import Ajv from "ajv";

const [schemas, recordings] = process.argv.slice(2).map((file) =>
  JSON.parse(readFileSync(file, "utf8")));
const options = { strict: false, allErrors: false, allowUnionTypes: true };
// A form sends only text; coercion gives a value the type that it stands for.
const ajvs = { request: new Ajv({ ...options, coerceTypes: true }), reply: new Ajv(options) };
for (const ajv of Object.values(ajvs)) ajv.addSchema(schemas, "types");
const validators = new Map();

// Converts booleans in text, because the validator does not coerce them inside a union.
function withTruths(value) {
  if (value === "true" || value === "false") return value === "true";
  if (Array.isArray(value)) return value.map(withTruths);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTruths(each)]));
}

function validator(of, name) {
  const id = `${of} ${name}`;
  if (!validators.has(id)) {
    const pointer = name.replaceAll("~", "~0").replaceAll("/", "~1");
    validators.set(id, schemas.properties[name] === undefined ? null
      : ajvs[of].compile({ $ref: `types#/properties/${encodeURIComponent(pointer)}` }));
  }
  return validators.get(id);
}

let held;
let wrong;

function hold(of, name, value, where) {
  const validate = validator(of, name);
  if (validate === null) {
    wrong.push({ where, what: `there is no type for ${of} ${name}` });
    return;
  }
  held[`${of} ${name}`] = (held[`${of} ${name}`] ?? 0) + 1;
  if (!validate(structuredClone(value))) {
    wrong.push({ where, what: `${of} ${name}: ${ajvs[of].errorsText(validate.errors)}` });
  }
}

// Checks every object of a known kind, also inside lists and events.
function holdObjects(value, where) {
  if (Array.isArray(value)) for (const each of value) holdObjects(each, where);
  else if (value !== null && typeof value === "object") {
    if (value.object === "event") holdObjects(value.data.object, where);
    else if (value.object === "list") holdObjects(value.data, where);
    else if (typeof value.object === "string") hold("reply", value.object, value, where);
    else if (value.error?.payment_intent) holdObjects(value.error.payment_intent, where);
  }
}

function judge(recording) {
  held = {};
  wrong = [];
  for (const [at, call] of recording.entries()) {
    const where = `${at}: ${call.route}, status ${call.status}`;
    if (call.route.startsWith("POST") || call.route.startsWith("GET")) {
      hold("request", call.route, withTruths(call.params), where);
    }
    holdObjects(call.reply, where);
  }
  return { held, wrong };
}

process.stdout.write(JSON.stringify(recordings.map(judge)) + "\n");
