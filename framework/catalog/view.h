// View: the public documents of one generation: the capability list and details, the operation
// pricing inventory, the OpenAPI document, the agent cards. Documents that depend on the program
// alone are rendered once, when the View is made; those with live readiness are cached while that
// readiness is current.
//
// Made by app/ at every installation, away from the loops, and published beside the program; all
// members may be called from any Thread and neither wait nor do I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "catalog/features.h"
#include "catalog/free_quotas.h"
#include "catalog/inventory.h"
#include "catalog/page_request.h"
#include "catalog/readiness.h"
#include "catalog/rendering.h"
#include "registry/generation.h"

namespace turnpike::catalog {

struct ViewOptions {
  std::string base_url;    // of the API host, without a trailing slash
  std::string cursor_key;  // secret that all nodes share, at least 32 random bytes
  Features features;
  // For the OpenAPI document: the API host's statuses of errors, and the fixed part, as JSON.
  int (*http_status)(base::ErrorCode) noexcept = nullptr;
  std::string_view openapi_frame = {};  // must outlive the View
  // For the agent cards and titles: the gateway's name, and URLs of the other hosts without a
  // trailing slash; empty: there is no such host.
  std::string service_name = {};
  std::string mcp_url = {};
  std::string web_url = {};
};

using Document = std::shared_ptr<const Rendering>;

// The routes of a page of the catalog, for lists that show fewer details than the page.
struct RoutePage {
  std::vector<const registry::Route*> routes;  // valid as long as the View
  std::string next_cursor;                     // empty: the last page
};

class View {
 public:
  // `readiness` covers the operations of installed.program.
  View(registry::Installed installed, std::shared_ptr<const ReadinessSource> readiness,
       ViewOptions options);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // Errors: catalog.cursor_invalid, catalog.cursor_stale.
  [[nodiscard]] Result<Document, base::Error> page(const PageRequest& request,
                                                   std::int64_t now_ms) const;
  [[nodiscard]] Result<RoutePage, base::Error> routes(const PageRequest& request) const;
  // Errors: catalog.capability_id_invalid, catalog.capability_not_found.
  [[nodiscard]] Result<Document, base::Error> detail(std::string_view capability_id,
                                                     std::int64_t now_ms) const;
  // Error: catalog.inventory_incomplete.
  [[nodiscard]] Result<Document, base::Error> inventory(std::int64_t now_ms) const;

  // The cached document, or null when it must be rendered again: it shows no time, so it is valid
  // until an operation's credential is added or removed. Rendering time is proportional to the
  // number of operations: run it on the blocking pool when has_many_operations().
  [[nodiscard]] Document kept_openapi() const;
  [[nodiscard]] Document render_openapi() const;
  // As above, for the agent cards, agent_cards.h.
  [[nodiscard]] Document kept_agent_cards() const;
  [[nodiscard]] Document render_agent_cards() const;
  [[nodiscard]] bool has_many_operations() const noexcept;

  [[nodiscard]] const registry::Program& program() const noexcept { return *installed_.program; }
  // The live readiness that the documents show.
  [[nodiscard]] const ReadinessSource& readiness() const noexcept { return *readiness_; }
  [[nodiscard]] const Features& features() const noexcept { return options_.features; }
  [[nodiscard]] const FreeQuotas& free_quotas() const noexcept { return free_quotas_; }

  [[nodiscard]] const registry::Generation& generation() const noexcept {
    return installed_.generation;
  }

 private:
  struct Selection;
  [[nodiscard]] Result<Selection, base::Error> select(const PageRequest& request) const;
  [[nodiscard]] std::string callable_signature() const;
  // One text per route, concatenated.
  struct Texts {
    std::string text;
    std::vector<std::size_t> ends;
    void add(std::string_view one) { ends.push_back((text += one).size()); }
    [[nodiscard]] std::string_view of(std::uint32_t route) const noexcept {
      const std::size_t begin = route == 0 ? 0 : ends[route - 1];
      return std::string_view(text).substr(begin, ends[route] - begin);
    }
  };
  [[nodiscard]] const Texts& entries(const PageRequest& request) const noexcept;
  [[nodiscard]] std::string page_body(const Selection& selection, const Texts& entries,
                                      std::int64_t now_ms) const;
  [[nodiscard]] std::size_t entry_bytes(std::uint32_t route, const PageRequest& request) const;
  [[nodiscard]] bool passes(std::uint32_t route, const PageRequest& request) const noexcept;

  registry::Installed installed_;
  std::shared_ptr<const ReadinessSource> readiness_;
  ViewOptions options_;
  FreeQuotas free_quotas_;
  std::string head_;  // members common to all documents: generation, manifest
  Texts entries_;     // list entries, each without its readiness
  Texts
      entries_of_payments_;  // with terms of payment per call; empty without a lane that takes them
  Texts searched_;           // texts that a search examines, in lower case
  Result<InventoryText, base::Error> inventory_;
  mutable RenderingCache kept_;
  mutable RenderingCache kept_openapi_;  // of one slot
  mutable RenderingCache kept_agent_cards_;  // of one slot
};

}  // namespace turnpike::catalog
