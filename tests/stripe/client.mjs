// Stripe's own client against the fake: node client.mjs URL KEY SECRET. Each line is a command in
// JSON and is answered with one line.
import { createInterface } from "node:readline";
import Stripe from "stripe";

const [url, key, secret] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const stripe = new Stripe(key, { host: hostname, port, protocol: "http", maxNetworkRetries: 1 });

const commands = {
  version: () => Stripe.API_VERSION ?? stripe.getApiField("version"),
  call: ({ path, parameters }) => {
    const at = path.split(".");
    const method = at.pop();
    const resource = at.reduce((node, name) => node[name], stripe);
    return resource[method](...parameters);
  },
  constructEvent: ({ body, signature }) => stripe.webhooks.constructEvent(body, signature, secret),
  sign: ({ body, timestamp, by }) =>
    stripe.webhooks.generateTestHeaderString({ payload: body, secret: by ?? secret, timestamp }),
};

process.stdout.write(JSON.stringify({ ready: true }) + "\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = { done: await commands[name](rest) };
  } catch (error) {
    answer = { failed: error.type ?? error.name, code: error.code ?? null,
      status: error.statusCode ?? null, message: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
