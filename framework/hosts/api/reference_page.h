// The API reference for people: our page around Swagger UI (npm swagger-ui-dist, Apache-2.0: reads
// OpenAPI 3.1, one script and one style sheet, works without requests to other origins). The bundle
// is read into memory at start; the page's policy forbids the browser every other origin. Immutable
// after load(); any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

namespace turnpike::hosts::api {

struct ReferenceFile {
  std::string name;  // below /reference/; empty: the page
  std::string_view content_type;
  std::string body;
  std::string etag;
};

class ReferencePage {
 public:
  // An empty object: the page is not served.
  ReferencePage() = default;
  // `directory`: holds the installed npm packages (node_modules). `base_url`: the origin that the
  // page may call. `service_name`: the service whose API the page describes. The error is one
  // sentence for the operator.
  static Result<ReferencePage, std::string> load(const std::string& directory,
                                                 std::string_view base_url,
                                                 std::string_view service_name);

  [[nodiscard]] const ReferenceFile* find(std::string_view name) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }
  [[nodiscard]] const std::string& content_security_policy() const noexcept { return policy_; }

 private:
  std::vector<ReferenceFile> files_;
  std::string policy_;
};

}  // namespace turnpike::hosts::api
