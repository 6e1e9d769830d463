// Shared by all processes here: arguments, commands as JSON lines, and an exit when standard input
// closes, however the starter ended.
import { createInterface } from "node:readline";

export function argumentsOf(defaults) {
  const given = { ...defaults };
  for (const text of process.argv.slice(2)) {
    const [, name, value] = /^--([a-z-]+)=(.*)$/s.exec(text) ?? [];
    if (!(name in defaults)) throw new Error(`unknown argument ${text}`);
    given[name] = value;
  }
  return given;
}

export function endWithStarter() {
  process.stdin.on("end", () => process.exit(0)).resume();
}

/**
 * Obeys commands, one per line: {"do": NAME, ...} is answered by {"done": VALUE} with what
 * `commands[NAME]` returns, or by {"failed": {message, code, name, data, status}} if it throws.
 */
export async function obey(commands) {
  console.log(JSON.stringify({ event: "ready" }));
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...command } = JSON.parse(line);
    let reply;
    try {
      reply = { done: (await commands[name](command)) ?? null };
    } catch (error) {
      const { message, code, data, status } = error;
      reply = { failed: { name: error.constructor.name, message, code, data, status } };
    }
    console.log(JSON.stringify(reply));
  }
  process.exit(0);
}
