// The official client of Standard Webhooks: node verify.mjs. Each line is a command in JSON and is
// answered with one line: {"do":"verify","secret","headers","body"},
// {"do":"sign","secret","id","at","body"}.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

const commands = {
  verify: ({ secret, headers, body }) => new Webhook(secret).verify(body, headers),
  sign: ({ secret, id, at, body }) => new Webhook(secret).sign(id, new Date(at * 1000), body),
};

process.stdout.write(JSON.stringify({ ready: true }) + "\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = { done: commands[name](rest) };
  } catch (error) {
    answer = { failed: error.name, message: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
