// status verify: checks that evidence is consistent and that the published status follows from it,
// for a file or a running gateway. It needs only the public key: no configuration, no database.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "app/commands/command_status_verify.h"
#include <turnpike/helpers/own_call.h>

#include "app/config/signing_key.h"
#include "base/sources.h"
#include "runtime/runtime.h"
#include "status/evidence.h"
#include "status/verify.h"
#include "text/time_text.h"
#include "text/words.h"
#include "wire/client.h"

namespace turnpike::app {
namespace {

using nlohmann::json;
using status::Verified;
using status::Verifier;

constexpr std::string_view evidence_path = "/v1/status/evidence";
constexpr std::uint32_t page_timeout_ms = 60'000;
constexpr std::uint64_t page_bytes_max = 64ull * 1024 * 1024;

// Passes the lines of a text to the verifier as its bytes arrive; false: a line is invalid.
class LineFeed {
 public:
  explicit LineFeed(Verifier& verifier) : verifier_(verifier) {}

  bool take(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      rest_ += bytes.substr(0, end);
      if (end == bytes.npos) break;
      bytes.remove_prefix(end + 1);
      if (!verifier_.take(rest_)) return false;
      rest_.clear();
    }
    // A line without a newline is refused as soon as it is too long.
    return rest_.size() <= status::evidence_line_bytes_max || verifier_.take(rest_);
  }
  // Text behind the last newline counts as a line.
  bool end() { return rest_.empty() || verifier_.take(std::exchange(rest_, {})); }

 private:
  Verifier& verifier_;
  std::string rest_;
};

// ---- a running gateway --------------------------------------------------------------------------

struct Page final : HttpSink {
  int status = 0;
  std::string bytes;

  bool head(int code, Headers, std::optional<std::uint64_t>) override {
    status = code;
    return true;
  }
  bool body(std::string_view part) override {
    bytes += part;
    return true;
  }
};

class Site {
 public:
  // `url`: of the gateway's API host, or of its evidence route.
  explicit Site(std::string url) : base_(std::move(url)) {
    base_.erase(std::min(base_.find('?'), base_.size()));
    base_.erase(std::min(base_.find(evidence_path), base_.size()));
    while (base_.ends_with('/')) base_.pop_back();
  }
  ~Site() { client_->stop(); }

  // Fetches `path`. False: sets `problem`; true: `page` has the reply's body.
  bool get(const std::string& path, Page& page, std::string& problem) {
    const std::string url = base_ + path;
    OwnCall call(clock_, page_timeout_ms);
    HttpOptions options;
    options.allow_private_addresses = true;  // the person who runs the command chose the URL
    options.reply_bytes_max = page_bytes_max;
    const Done done = client_->call({Method::get, url, {}, {}}, options, page, call);
    if (!done.ok()) problem = url + " does not answer: " + done.error().message;
    if (done.ok() && page.status != 200) problem = url + " answers " + std::to_string(page.status);
    return problem.empty();
  }

 private:
  static wire::ClientSettings settings() {
    wire::ClientSettings settings;
    settings.reply_bytes_max = page_bytes_max;
    return settings;
  }

  std::string base_;
  base::SystemClock clock_;
  runtime::Runtime runtime_{{}};
  std::unique_ptr<wire::Client> client_ = wire::make_client(runtime_, settings());
};

// Reads page by page, from the first round that can be verified to the newest. The status is
// fetched first, so that its round is among them. Returns one sentence if the gateway cannot be
// read; empty: success. Faults of the evidence stay in the verifier.
std::string feed_site(Verifier& verifier, const StatusVerifyWords& words) {
  Site site(words.source);
  std::string problem;
  if (words.published.empty()) {
    Page published;
    if (!site.get("/v1/status/gateway", published, problem)) return problem;
    if (!verifier.expect(published.bytes)) {
      return "the gateway has published no status that is of a round";
    }
  }
  std::string query;
  for (;;) {
    Page page;
    if (!site.get(std::string(evidence_path) + query, page, problem)) return problem;
    const std::uint64_t before = verifier.verified().rounds;
    LineFeed feed(verifier);
    if (!feed.take(page.bytes) || !feed.end()) return "";
    if (verifier.verified().rounds == before) return "";
    query = "?from_round=" + std::to_string(verifier.verified().last_round + 1);
  }
}

// ---- a file -------------------------------------------------------------------------------------

std::string feed_file(Verifier& verifier, const std::string& path) {
  std::ifstream opened;
  if (path != "-") opened.open(path, std::ios::binary);
  std::istream& file = path == "-" ? std::cin : opened;
  if (!file) return path + " cannot be read";
  LineFeed feed(verifier);
  std::string bytes(1 << 20, '\0');
  while (file) {
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    if (!feed.take(std::string_view(bytes).substr(0, count))) return "";
  }
  if (file.bad()) return path + " cannot be read to its end";
  feed.end();
  return "";
}

std::string expect_file(Verifier& verifier, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return path + " cannot be read";
  if (!verifier.expect(text)) {
    return path + " is no document of GET /v1/status/gateway that is of a round";
  }
  return "";
}

// ---- the answer ---------------------------------------------------------------------------------

json to_json(const Verifier& verifier) {
  const Verified& found = verifier.verified();
  const bool is_any = found.rounds > 0;
  json statuses = json::object();
  if (const status::Book* const book = verifier.book()) {
    if (const auto* const gateway = book->scope("gateway")) {
      statuses["gateway"] = name_of(gateway->level);
    }
  }
  return {{"ok", verifier.problem().empty()},
          {"problem", verifier.problem().empty() ? json() : json(verifier.problem())},
          {"stream", found.stream},
          {"firstRound", found.first_round},
          {"lastRound", found.last_round},
          {"head", found.last_head},
          {"from", is_any ? json(text::rfc3339(found.started_at_ms)) : json()},
          {"to", is_any ? json(text::rfc3339(found.ended_at_ms)) : json()},
          {"rounds", found.rounds},
          {"records", found.records},
          {"statesRecomputed", found.states},
          {"roundsPruned", found.pruned},
          {"signedBy", found.kids},
          {"publishedCompared", verifier.was_compared()},
          {"status", statuses}};
}

std::string to_text(const Verifier& verifier) {
  const Verified& found = verifier.verified();
  std::string text;
  if (found.rounds > 0) {
    text = "stream " + found.stream + ": rounds " + std::to_string(found.first_round) + " to " +
           std::to_string(found.last_round) + ", " + text::counted(found.records, "record") +
           ", from " + text::rfc3339(found.started_at_ms) + " to " +
           text::rfc3339(found.ended_at_ms) + "\nrecomputed after " +
           text::counted(found.states, "round") + ": every status, incident and segment";
    if (found.pruned > 0) {
      text += "\n" + text::counted(found.pruned, "round") +
              (found.pruned == 1 ? " is checked by its head alone"
                                 : " are checked by their heads alone");
    }
    if (verifier.was_compared()) {
      text += "\nthe published status of round " + std::to_string(verifier.published_round()) +
              " was compared";
    }
    text += "\nhead of round " + std::to_string(found.last_round) + ": " + found.last_head + "\n";
  }
  return text + (verifier.problem().empty() ? "the evidence fits" : verifier.problem());
}

// Returns why the evidence as a whole fails although each line is valid.
std::string fault_of(const Verifier& verifier, bool is_published) {
  if (verifier.verified().rounds == 0) return "there is no round in the evidence";
  if (!is_published || verifier.was_compared()) return "";
  return "the published status is of round " + std::to_string(verifier.published_round()) +
         ", which the evidence does not hold";
}

}  // namespace

int run_status_verify(const CommonOptions& options, const StatusVerifyWords& words) {
  std::vector<crypto::Ed25519PublicKey> keys;
  for (const std::string& text : words.public_keys) {
    const auto key = parse_public_key(text);
    if (!key) {
      print_failure(options,
                    "--public-key takes what `turnpike ledger key` prints: 43 characters");
      return exit_usage;
    }
    keys.push_back(*key);
  }
  Verifier verifier(std::move(keys));
  const bool is_url =
      words.source.starts_with("http://") || words.source.starts_with("https://");
  if (!words.published.empty()) {
    const std::string expected = expect_file(verifier, words.published);
    if (!expected.empty()) return print_failure(options, expected);
  }
  const std::string problem =
      is_url ? feed_site(verifier, words) : feed_file(verifier, words.source);
  if (!problem.empty()) return print_failure(options, problem);
  const bool fits = verifier.end();
  const std::string fault = fits ? fault_of(verifier, is_url || !words.published.empty()) : "";
  if (!fault.empty()) return print_failure(options, fault);
  std::cout << (options.json ? json_text(to_json(verifier)) : to_text(verifier)) << '\n';
  return fits ? exit_done : exit_failed;
}

void add_status_verify(CLI::App& group, CommonOptions& options, StatusVerifyWords& words,
                       int& code) {
  CLI::App* const verify = group.add_subcommand(
      "verify", "Check evidence, and recompute from it what was published; exit code 1 when it "
                "does not fit");
  add_common_options(*verify, options);
  verify->add_option("SOURCE", words.source, "File of evidence, - for standard input, or the URL "
                                             "of a gateway")
      ->required();
  verify
      ->add_option("--public-key", words.public_keys,
                   "Of who signs the rounds, as `turnpike ledger key` prints it; may be repeated")
      ->allow_extra_args(false)
      ->required();
  verify->add_option("--published", words.published,
                     "File with the reply of GET /v1/status/gateway to compare; of a URL that of "
                     "the gateway is taken");
  verify->callback([&options, &words, &code] { code = run_status_verify(options, words); });
}

}  // namespace turnpike::app
