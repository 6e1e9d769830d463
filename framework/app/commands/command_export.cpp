// export: writes usage and allocations for other tools to standard output.
#include <fstream>
#include <iostream>

#include "app/commands/command_database.h"
#include "app/commands/export.h"
#include "text/time_text.h"

namespace turnpike::app {
namespace {

// Reads a time of the command line; sets nothing if `text` is empty. False: it is not a time.
bool read_time(const std::string& text, std::optional<std::int64_t>& time_ms) {
  if (text.empty()) return true;
  time_ms = text::parse_rfc3339(text);
  return time_ms.has_value();
}

}  // namespace

int run_export(const CommonOptions& options, const ExportWords& words) {
  ExportRequest request;
  std::optional<std::int64_t> from_ms;
  if (!read_time(words.from, from_ms) || !read_time(words.to, request.to_ms)) {
    std::cerr << "turnpike: --from and --to are times such as 2026-11-21T00:00:00Z\n";
    return exit_usage;
  }
  request.from_ms = from_ms.value_or(0);
  if (!words.all) request.account_id = words.account;
  request.collection =
      words.collection == "usage" ? ExportCollection::usage : ExportCollection::allocations;
  request.format = words.format == "csv" ? ExportFormat::csv : ExportFormat::ndjson;
  return with_database(options, [&](Tools& tools) {
    std::ofstream file;
    if (!words.out.empty()) file = open_private(words.out);
    const auto done = write_export(tools.node, request, words.out.empty() ? std::cout : file);
    if (!done.ok()) {  // on standard error: standard output is not JSON
      std::cerr << "turnpike: " << (words.out.empty() ? "" : words.out + ": ") << done.error()
                << '\n';
      return exit_failed;
    }
    std::cerr << done->json << '\n';
    return exit_done;
  });
}

}  // namespace turnpike::app
