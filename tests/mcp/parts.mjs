// What every process here has in common: its arguments, JSON lines as commands, and an end when its
// starter's end of standard input closes, however that came.
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
 * Commands, one a line: {"do": NAME, ...}, answered by what `commands[NAME]` gives, or by
 * {"failed": {message, code, name, data, status}} when it throws.
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
