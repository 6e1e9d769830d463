// The resources of the service: the catalog, a page or a capability at a time, and texts that a
// model needs to use it well. All are public and free of charge; each has the content of the
// corresponding HTTP route or file.
//
//   service://capabilities{?limit,cursor,provider_key,method,q}   a page of the catalog
//   service://capabilities/{capability_id}                        one capability in full
//   service://docs/registry, /paying, /errors                     Markdown
//
// Owned by app/, shared by both endpoints; called on the fibers of all loop Threads, does not wait.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "base/limits.h"
#include "catalog/rendering.h"
#include "hosts/backend.h"
#include "hosts/mcp/features.h"
#include "hosts/mcp/tool_names.h"

namespace turnpike::hosts::mcp {

class ServiceResources final : public Resources {
 public:
  static constexpr std::uint32_t page_resources_max = 100;  // besides the texts on the first page

  // Both references outlive the object. A page of the catalog is at most `page_bytes_max` long,
  // unless a single entry is longer. `names`: the form of tool names in texts.
  ServiceResources(Backend& backend, const Clock& clock,
                   std::uint64_t page_bytes_max = base::limits::mcp_reply_bytes_max,
                   ToolNames names = ToolNames::dotted);

  // Lists the texts and the catalog first, then every capability; cursors are the catalog's. A page
  // is rendered once for each installation.
  Answer list(const RpcRequest& request, const std::string* cursor) const override;
  Answer templates(const RpcRequest& request, const std::string* cursor) const override;
  Answer read(const RpcRequest& request, const std::string& uri) const override;

 private:
  struct Text {
    std::string_view uri;
    std::string entry;                            // members of its object in the list
    std::shared_ptr<const std::string> contents;  // the members of its result
  };
  static Text make_text(std::string_view uri, std::string_view title, std::string_view description,
                        std::string_view markdown);
  // The members of a list's page; `view` may be null.
  [[nodiscard]] Result<std::string, RpcError> render(const catalog::View* view,
                                                     const std::string* cursor) const;
  [[nodiscard]] Answer read_page(const RpcRequest& request, const std::string& uri,
                                 std::string_view query) const;
  [[nodiscard]] Answer read_detail(const RpcRequest& request, const std::string& uri,
                                   std::string_view capability_id) const;

  Backend& backend_;
  const Clock& clock_;
  const std::uint64_t page_bytes_max_;
  const std::array<Text, 3> texts_;
  mutable catalog::RenderingCache lists_;  // pages of the list, by generation
};

}  // namespace turnpike::hosts::mcp
