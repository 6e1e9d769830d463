// govdata-import: imports saved governance data into the embedded store.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "govdata/import/sample.h"
#include "govdata/store/schema.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

using Json = nlohmann::ordered_json;

constexpr int exit_done = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr std::size_t rejections_kept = 1000;
const std::string formats = format_names() + " and sample";

struct Arguments {
  std::string format, input, database, as_of, now, sample_directory;
  bool json = false;
  ImportOptions options;
};

void declare(CLI::App& app, Arguments& arguments) {
  ImportOptions& options = arguments.options;
  app.add_option("format", arguments.format, formats)->required();
  app.add_option("input", arguments.input, "the file, or - for standard input; may be gzipped");
  app.add_option("--database", arguments.database, "the store; made when missing")->required();
  app.add_option("--dao", options.dao.dao_id, "id of the DAO the records belong to");
  app.add_option("--name", options.dao.name, "display name of the DAO");
  app.add_option("--alias", options.dao.aliases, "another name the DAO is found by");
  app.add_option("--about", options.dao.about, "one paragraph on the DAO");
  app.add_option("--website", options.dao.website, "address of the DAO's site");
  app.add_option("--provider", options.provider, "provider name other than the format's own");
  app.add_option("--scope", options.scope, "space, contract or forum that the records are of");
  app.add_option("--as-of", arguments.as_of, "time up to which the data is complete; default now");
  app.add_option("--base-url", options.base_url, "address of the forum or the proposal site");
  app.add_option("--proposal", options.proposal_id, "proposal of votes that do not name theirs");
  app.add_option("--event", options.event, "event of a CSV whose columns do not tell it");
  app.add_option("--chain-id", options.chain_id, "chain of the contract")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 53));
  app.add_option("--clock-mode", options.clock_mode, "how the contract counts time")
      ->check(CLI::IsMember({"blocknumber", "timestamp"}));
  app.add_option("--blocks", options.blocks_path, "CSV of block_number,timestamp");
  app.add_option("--stale-after", options.stale_after_s, "seconds until the source is stale")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--now", arguments.now, "the time to work at; default the clock's");
  app.add_option("--directory", arguments.sample_directory,
                 "sample: folder of manifest.json; default: the shipped one");
  app.add_flag("--keep-raw", options.keep_raw, "keep every record's source text");
  app.add_flag("--dry-run", options.dry_run, "read and check everything, keep nothing");
  app.add_flag("--json", arguments.json, "print the summary as JSON");
}

// The summary as JSON, with the counters in the order in which they are printed.
Json json_of(const ImportSummary& summary) {
  Json value = {{"status", summary.status},          {"in", summary.rows_in},
                {"new", summary.rows_new},           {"changed", summary.rows_changed},
                {"same", summary.rows_same},         {"ignored", summary.rows_ignored},
                {"rejected", summary.rows_rejected}, {"revision", summary.revision}};
  if (!summary.error.empty()) value["error"] = summary.error;
  return value;
}

void print_summary(const std::string& name, const ImportSummary& summary) {
  std::printf(
      "%s: %s: %lld records: %lld new, %lld changed, %lld same, %lld ignored, %lld "
      "rejected\n",
      name.c_str(), summary.status.c_str(), static_cast<long long>(summary.rows_in),
      static_cast<long long>(summary.rows_new), static_cast<long long>(summary.rows_changed),
      static_cast<long long>(summary.rows_same), static_cast<long long>(summary.rows_ignored),
      static_cast<long long>(summary.rows_rejected));
  if (!summary.error.empty()) std::fprintf(stderr, "%s: %s\n", name.c_str(), summary.error.c_str());
}

// A progress line that overwrites itself. It is shown only on a terminal.
class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) != 0) {}
  void update(std::uint64_t read, std::uint64_t total) {
    if (!shown_ || read < next_) return;
    next_ = read + (1 << 20);
    const auto mebibytes = static_cast<unsigned long long>(read >> 20);
    if (total > 0) {
      std::fprintf(stderr, "\r%llu MiB, %llu %%", mebibytes,
                   static_cast<unsigned long long>(read * 100 / total));
    } else {
      std::fprintf(stderr, "\r%llu MiB", mebibytes);
    }
    written_ = true;
  }
  void clear() {
    if (written_) std::fprintf(stderr, "\r\x1b[K");
    written_ = false;
  }

 private:
  bool shown_;
  bool written_ = false;
  std::uint64_t next_ = 0;
};

class Rejections {
 public:
  explicit Rejections(ProgressLine& progress) : progress_(progress) {}
  void add(const std::string& position, const std::string& reason) {
    progress_.clear();
    std::fprintf(stderr, "rejected: %s: %s\n", position.c_str(), reason.c_str());
    if (list_.size() < rejections_kept) {
      list_.push_back({{"position", position}, {"reason", reason}});
    }
  }
  [[nodiscard]] const Json& list() const { return list_; }

 private:
  ProgressLine& progress_;
  Json list_ = Json::array();
};

void print_json(const Json& value) {
  std::printf("%s\n", value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// Looks below the working directory, beside the build, and where an installation puts the samples.
std::string sample_directory() {
  namespace fs = std::filesystem;
  const fs::path shipped = "plugins/govdata/sample";
  std::error_code problem;
  const fs::path home = fs::read_symlink("/proc/self/exe", problem).parent_path();
  for (const fs::path& folder :
       {shipped, home / "../.." / shipped, home / "../share/turnpike/govdata/sample"}) {
    if (fs::exists(folder / "manifest.json", problem)) return folder.string();
  }
  throw ImportError("the sample data is not found; give --directory");
}

int import_sample(const Arguments& arguments, Database& database) {
  ProgressLine progress;
  Rejections rejections(progress);
  const auto results = load_sample(
      database,
      arguments.sample_directory.empty() ? sample_directory() : arguments.sample_directory,
      arguments.options.now_ms, [&](const std::string& position, const std::string& reason) {
        rejections.add(position, reason);
      });
  int code = exit_done;
  Json files = Json::array();
  for (const SampleResult& result : results) {
    if (result.summary.status == "failed") code = exit_failed;
    Json entry = {{"file", result.file}};
    entry.update(json_of(result.summary));
    files.push_back(entry);
    if (!arguments.json) print_summary(result.file, result.summary);
  }
  if (arguments.json) print_json({{"files", files}, {"rejections", rejections.list()}});
  return code;
}

int import_file(Arguments& arguments, Database& database) {
  const auto format = format_of(arguments.format);
  if (!format || arguments.input.empty()) {
    const std::string problem =
        format ? "no input file is named; - is standard input"
               : "no format is named \"" + arguments.format + "\": there are " + formats;
    std::fprintf(stderr, "govdata-import: %s\n", problem.c_str());
    return exit_usage;
  }
  arguments.options.format = *format;
  const std::filesystem::path path(arguments.input);
  arguments.options.input_name =
      arguments.input == "-" ? "standard input" : path.filename().string();
  if (arguments.options.event.empty()) {
    const std::string name = path.filename().string();
    arguments.options.event = name.substr(0, name.find('.'));
  }
  ProgressLine progress;
  Rejections rejections(progress);
  Input input(open_file(arguments.input),
              [&](std::uint64_t read, std::uint64_t total) { progress.update(read, total); });
  const ImportSummary summary =
      run_import(database, input, arguments.options,
                 [&](const std::string& position, const std::string& reason) {
                   rejections.add(position, reason);
                 });
  progress.clear();
  if (arguments.json) {
    Json value = json_of(summary);
    value["dry_run"] = arguments.options.dry_run;
    value["rejections"] = rejections.list();
    print_json(value);
  } else {
    print_summary(arguments.options.input_name, summary);
  }
  return summary.status == "failed" ? exit_failed : exit_done;
}

auto open_store(const std::string& path) {
  try {
    return open_for_import(path);
  } catch (const std::exception& error) {
    throw ImportError(path + ": " + error.what());
  }
}

int run(int count, char** values) {
  CLI::App app{"Brings saved governance data into the govdata provider's store."};
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(count, values);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_usage;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  arguments.options.now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  for (const auto& [text, name] :
       {std::pair{&arguments.now, "--now"}, {&arguments.as_of, "--as-of"}}) {
    if (text->empty()) continue;
    const auto time_ms = parse_time(*text);
    if (!time_ms) {
      std::fprintf(stderr, "govdata-import: %s is no time\n", name);
      return exit_usage;
    }
    if (text == &arguments.now) {
      arguments.options.now_ms = *time_ms;
    } else {
      arguments.options.as_of_ms = *time_ms;
    }
  }
  // A dry run must not create a file, so it uses a temporary database of SQLite if there is none.
  const bool without_file =
      arguments.options.dry_run && !std::filesystem::exists(arguments.database);
  const auto database = open_store(without_file ? "" : arguments.database);
  return arguments.format == "sample" ? import_sample(arguments, *database)
                                      : import_file(arguments, *database);
}

}  // namespace
}  // namespace turnpike::govdata

int main(int count, char** values) {
  // Only the owner may read the store, as with all data of the gateway. SQLite's files get this
  // mask.
  umask(077);
  try {
    return turnpike::govdata::run(count, values);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "govdata-import: %s\n", error.what());
    return 1;
  }
}
