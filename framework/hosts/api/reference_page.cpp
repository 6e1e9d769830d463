#include "hosts/api/reference_page.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "crypto/digest.h"
#include "hosts/page.h"

namespace turnpike::hosts::api {

namespace {

// The HTML before the title; page_end follows the title.
constexpr std::string_view page_begin = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)html";
constexpr std::string_view page_end = R"html( API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/reference/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. The document itself is at
<a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/reference/swagger-ui-bundle.js"></script>
<script src="/reference/start.js"></script>
</body>
</html>
)html";

// A separate file: the page's policy forbids inline scripts.
constexpr std::string_view start_script = R"js("use strict";
window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#reference",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    docExpansion: "list",
    persistAuthorization: false,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
  });
});
)js";

std::optional<std::string> contents_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  std::stringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

ReferenceFile make_file(std::string name, std::string_view content_type, std::string body) {
  std::string etag = "\"" + crypto::sha256_hex(body).substr(0, 32) + "\"";
  return {std::move(name), content_type, std::move(body), std::move(etag)};
}

}  // namespace

Result<ReferencePage, std::string> ReferencePage::load(const std::string& directory,
                                                       std::string_view base_url,
                                                       std::string_view service_name) {
  ReferencePage loaded;
  // Swagger UI sets inline styles on elements, and its icons are data URLs.
  loaded.policy_ =
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
      "img-src 'self' data:; connect-src 'self' " +
      std::string(base_url) + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  std::string page(page_begin);
  append_html(page, service_name);
  page.append(page_end);
  loaded.files_.push_back(make_file("", page_type, std::move(page)));
  loaded.files_.push_back(
      make_file("start.js", "text/javascript; charset=utf-8", std::string(start_script)));
  for (const auto& [name, type] :
       {std::pair<const char*, std::string_view>{"swagger-ui.css", "text/css; charset=utf-8"},
        {"swagger-ui-bundle.js", "text/javascript; charset=utf-8"}}) {
    const std::string path = directory + "/swagger-ui-dist/" + name;
    auto body = contents_of(path);
    if (!body) return "the API reference lacks " + path + "; ./dev deps installs it";
    loaded.files_.push_back(make_file(name, type, *std::move(body)));
  }
  return loaded;
}

const ReferenceFile* ReferencePage::find(std::string_view name) const noexcept {
  for (const ReferenceFile& file : files_) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace turnpike::hosts::api
