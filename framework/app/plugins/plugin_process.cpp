#include "app/plugins/plugin_process.h"

#include "app/stores.h"
#include "records/durable_stores.h"
#include "runtime/runtime.h"
#include "wire/client.h"

namespace turnpike::app {

int PluginProcess::run(
    const std::function<int(const PluginSet& plugins, storage::Node& node)>& work) {
  auto node = open_node(config_, storage::Role::tool, clock_, random_);
  if (!node.ok()) return print_failure(options_, node.error());
  runtime::RuntimeOptions runtime_options;
  runtime_options.loops = 1;
  runtime::Runtime runtime(std::move(runtime_options));
  const auto client = wire::make_client(runtime, {});
  records::DurableStores stores((*node)->records(),
                                {clock_, random_, *log_, *metrics_, runtime.pool(), [](auto) {}});
  if (auto started = stores.start(); !started.ok()) {
    return print_failure(options_, "the database does not answer: " + started.error().text);
  }
  const plugin::HostResources resources{.log = *log_,
                                        .metrics = *metrics_,
                                        .clock = clock_,
                                        .random = random_,
                                        .http = *client,
                                        .pool = runtime.pool(),
                                        .stores = stores};
  const auto code = [&] {
    const auto plugins = PluginSet::load(config_, resources);
    if (!plugins.ok()) return print_failure(options_, plugins.error().front().text());
    return work(*plugins, **node);
  }();
  stores.stop();
  client->stop();
  return code;
}

std::string api_origin(const Config& config) {
  return config.api.base_url.empty() ? "http://" + config.api.listen : config.api.base_url;
}

}  // namespace turnpike::app
