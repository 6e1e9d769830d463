// Another reader of Markdown than the gateway's own. On standard input a JSON list of texts, on
// standard output the list of their HTML.
import MarkdownIt from "markdown-it";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const reader = new MarkdownIt({ html: false, linkify: false });
process.stdout.write(JSON.stringify(JSON.parse(input).map((text) => reader.render(text))));
