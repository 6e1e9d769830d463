// What the calling test (tests/e2e/walks.py) and a script say to each other: the first line of
// standard input is JSON, the script's steps; the last line that the script prints is JSON as well.
// Between them the script may print what it wants the test to do. A step that every script may have
// is `screenshots`, a folder for pictures.
import {createInterface} from "node:readline";

const input = createInterface({input: process.stdin});
const lines = input[Symbol.asyncIterator]();

export const steps = JSON.parse((await lines.next()).value);

// Lets the test do what the script itself cannot: prints `what`, and continues when a line arrives.
export async function letTest(what) {
  console.log(what);
  await lines.next();
}

// Prints what was seen. Nothing may follow.
export function tell(seen) {
  console.log(JSON.stringify(seen));
  input.close();
}
