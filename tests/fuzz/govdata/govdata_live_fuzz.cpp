// Arbitrary answers of hubs, forums and nodes. The first byte selects the source; the answers
// follow, separated by 0x1E, all with status 200. A step that fails must leave the cursor
// unchanged, and the store must stay consistent for its readers.
#include <turnpike/helpers/test_host.h>

#include <cstdlib>

#include "govdata/live/source.h"
#include "govdata/store/schema.h"

namespace turnpike::govdata {
namespace {

constexpr int steps_max = 12;

SourceSettings settings_for(unsigned char choice) {
  SourceSettings settings;
  settings.type = static_cast<SourceType>(choice % 3);
  settings.dao_id = "fuzz-dao";
  settings.url = "https://source.example.org";
  settings.contract = "0xc0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0";
  settings.scope = settings.type == SourceType::snapshot    ? "tide.eth"
                   : settings.type == SourceType::discourse ? "source.example.org"
                                                            : "eip155:1:" + settings.contract;
  settings.from_block = 500;
  settings.page_size = 2;
  return settings;
}

std::unique_ptr<Source> source_for(const SourceSettings& settings) {
  switch (settings.type) {
    case SourceType::snapshot:
      return make_snapshot_source(settings);
    case SourceType::discourse:
      return make_discourse_source(settings);
    case SourceType::governor:
      return make_governor_source(settings);
  }
  return nullptr;
}

void poll(std::string_view input) {
  const SourceSettings settings = settings_for(static_cast<unsigned char>(input.front()));
  input.remove_prefix(1);
  const auto source = source_for(settings);
  const auto store = open_for_import(":memory:");
  TestHost host;
  TestCall call;
  host.answer = [&input](const HttpRequest&, HttpSink& sink) -> Done {
    if (input.empty()) return Failure{FailureKind::transport, {}, {}, false};
    const std::size_t end = std::min(input.find('\x1E'), input.size());
    sink.head(200, {}, std::nullopt);
    sink.body(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
    return Unit{};
  };
  const std::int64_t source_id = open_source(*store, settings, host.time_ms);
  for (int number = 0; number < steps_max && !input.empty(); ++number) {
    const std::string before = read_cursor(*store, source_id);
    StepContext context{*store, host, call, source_id, host.time_ms};
    const Step step = source->step(context);
    if (step.kind == StepKind::failed && read_cursor(*store, source_id) != before) std::abort();
    host.time_ms += 2000;
  }
  auto check = store->prepare("PRAGMA foreign_key_check");
  if (check.step()) std::abort();
}

}  // namespace
}  // namespace turnpike::govdata

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) {
    turnpike::govdata::poll(std::string_view(reinterpret_cast<const char*>(data), size));
  }
  return 0;
}
