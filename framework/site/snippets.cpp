// The code of calls, in the languages of the live part `snippet`.
#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "site/live_parts.h"

namespace turnpike::site {

namespace {

// Returns the sample call of an operation, or one with placeholders for its parameters.
SnippetCall call_of(const registry::Program& program, const registry::Operation& operation) {
  const registry::Sample& sample = operation.monitoring->sample;
  SnippetCall call{std::string(name_of(operation.method)), sample.path, sample.query, sample.body,
                   sample.content_type};
  if (call.path.empty()) call.path = program.routes()[operation.route].matcher.pattern;
  if (operation.method == Method::post && call.content_type.empty()) {
    call.content_type = "application/json";
    if (call.body.empty()) call.body = "{}";
  }
  return call;
}

std::string url_of(const SnippetCall& call, const Facts& facts) {
  return facts.urls.api + call.path + (call.query.empty() ? "" : "?" + call.query);
}

// Quotes any text as one word of the shell.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

// Quotes as JSON, which is also valid in JavaScript and Python.
std::string literal_of(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string curl(const SnippetCall& call, const Facts& facts) {
  std::string text = "curl " + shell_word(url_of(call, facts)) +
                     " \\\n  -H \"Authorization: Bearer $API_KEY\"";
  if (call.method == "POST") {
    text += " \\\n  -H " + shell_word("Content-Type: " + call.content_type) + " \\\n  --data " +
            shell_word(call.body);
  }
  return listing_of("sh", text);
}

std::string javascript(const SnippetCall& call, const Facts& facts) {
  std::string text = "const reply = await fetch(" + literal_of(url_of(call, facts)) + ", {\n";
  if (call.method == "POST") {
    text += "  method: \"POST\",\n  body: " + literal_of(call.body) + ",\n";
  }
  text += "  headers: {\n    Authorization: `Bearer ${process.env.API_KEY}`,\n";
  if (call.method == "POST") {
    text += "    \"Content-Type\": " + literal_of(call.content_type) + ",\n";
  }
  text += "  },\n});\n"
          "if (!reply.ok) throw new Error((await reply.json()).error.code);\n"
          "console.log(await reply.text());";
  return listing_of("js", text);
}

std::string python(const SnippetCall& call, const Facts& facts) {
  std::string text = "import os\nimport urllib.request\n\nrequest = urllib.request.Request(\n    " +
                     literal_of(url_of(call, facts)) + ",\n";
  if (call.method == "POST") text += "    data=" + literal_of(call.body) + ".encode(),\n";
  text += "    headers={\n        \"Authorization\": \"Bearer \" + os.environ[\"API_KEY\"],\n";
  if (call.method == "POST") {
    text += "        \"Content-Type\": " + literal_of(call.content_type) + ",\n";
  }
  text += "    },\n)\nwith urllib.request.urlopen(request) as reply:\n    print(reply.read())";
  return listing_of("python", text);
}

std::string mcp(const SnippetCall& call, const Facts& facts) {
  if (facts.urls.mcp.empty()) return "This gateway has no MCP host.\n";
  nlohmann::ordered_json arguments = {{"method", call.method}, {"path", call.path}};
  if (!call.query.empty()) arguments["query"] = call.query;
  if (call.method == "POST") {
    arguments["body"] = call.body;
    arguments["content_type"] = call.content_type;
  }
  const nlohmann::ordered_json message = {
      {"jsonrpc", "2.0"},
      {"id", 1},
      {"method", "tools/call"},
      {"params", {{"name", "service.route.execute"}, {"arguments", arguments}}}};
  return "At " + facts.urls.mcp + ", with your API key as `Authorization: Bearer` of the "
         "connection, the client sends:\n\n" +
         listing_of("json", message.dump(2, ' ', false,
                                         nlohmann::json::error_handler_t::replace));
}

std::string x402(const SnippetCall& call, const registry::Operation& operation,
                 const LiveContext& context) {
  if (per_call_text(operation, context).empty()) {
    return "This operation is not sold without an account.\n";
  }
  std::string options;
  if (call.method == "POST") {
    options = ", {\n  method: \"POST\",\n  headers: { \"Content-Type\": " +
              literal_of(call.content_type) + " },\n  body: " + literal_of(call.body) + ",\n}";
  }
  return listing_of("js", "import { x402Client } from \"@x402/core/client\";\n"
                          "import { ExactEvmScheme } from \"@x402/evm/exact/client\";\n"
                          "import { wrapFetchWithPayment } from \"@x402/fetch\";\n"
                          "import { privateKeyToAccount } from \"viem/accounts\";\n\n"
                          "const account = privateKeyToAccount(process.env.WALLET_KEY);\n"
                          "const client = new x402Client()\n"
                          "  .register(\"eip155:*\", new ExactEvmScheme(account));\n"
                          "const pay = wrapFetchWithPayment(fetch, client);\n"
                          "const reply = await pay(" +
                              literal_of(url_of(call, context.facts)) + options +
                              ");\nconsole.log(await reply.text());");
}

}  // namespace

std::string snippet(std::string_view in, const SnippetCall& call,
                    const registry::Operation& operation, const LiveContext& context) {
  if (in == "curl") return curl(call, context.facts);
  if (in == "javascript") return javascript(call, context.facts);
  if (in == "python") return python(call, context.facts);
  if (in == "mcp") return mcp(call, context.facts);
  return x402(call, operation, context);
}

std::string snippet(std::string_view in, const registry::Operation& operation,
                    const LiveContext& context) {
  return snippet(in, call_of(context.facts.view->program(), operation), operation, context);
}

}  // namespace turnpike::site
