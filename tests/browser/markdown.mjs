// A reader of Markdown that is independent of the gateway's own. Standard input: a JSON list of
// texts; standard output: a JSON list of their HTML.
import MarkdownIt from "markdown-it";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const reader = new MarkdownIt({ html: false, linkify: false });
process.stdout.write(JSON.stringify(JSON.parse(input).map((text) => reader.render(text))));
