#include "substrate/verify/online.h"

#include <algorithm>
#include <utility>

#include "substrate/codec/digest.h"
#include "substrate/codec/scale.h"
#include "substrate/verify/offline.h"

namespace turnpike::substrate {
namespace {

constexpr const char* not_there = "none";

std::string shown_hash(const std::optional<Hash>& hash) {
  return hash ? hex_of(*hash) : std::string(not_there);
}

class OnlineChecks {
 public:
  OnlineChecks(const Input& input, const ChainSettings& chain, const OnlineFacts& facts,
               Report& report)
      : input_(input),
        chain_(chain),
        facts_(facts),
        primary_(facts.endpoints.front()),
        report_(report),
        wanted_(wanted_code_hash(input, report)) {}

  void run() {
    check_genesis();
    check_block();
    check_finality();
    check_head_age();
    find_state();
    check_sources();
    check_live_code();
    check_code_bytes();
    check_runtime();
    check_authorization();
    check_increase();
    if (facts_.transition) check_transition(*facts_.transition);
    if (facts_.parachain) check_parachain(*facts_.parachain);
    set_assurance();
  }

 private:
  void add(std::string id, CheckStatus status, Weight weight, std::string detail,
           std::string expected = {}, std::string actual = {}) {
    report_.add({std::move(id), status, weight, Source::rpc, std::move(detail),
                 std::move(expected), std::move(actual)});
  }
  void warn(std::string code, std::string text) {
    report_.warnings.push_back({std::move(code), std::move(text)});
  }

  [[nodiscard]] std::optional<Hash> code_hash() const {
    return primary_.code_hash.value.value_or(std::nullopt);
  }
  [[nodiscard]] bool runs_wanted() const { return wanted_ && code_hash() == *wanted_; }
  [[nodiscard]] const Authorization* authorization() const {
    const auto& fact = primary_.authorization.value;
    return fact && *fact ? &**fact : nullptr;
  }

  void check_genesis() {
    for (const EndpointFacts& endpoint : facts_.endpoints) {
      if (!endpoint.genesis.is_known() && &endpoint != &primary_) continue;
      const auto& genesis = endpoint.genesis;
      const bool is_same = genesis.is_known() && *genesis.value == chain_.genesis_hash;
      add("chain.genesis", is_same ? CheckStatus::pass : CheckStatus::fail, Weight::critical,
          is_same ? endpoint.endpoint_key + " is of the chain that is meant"
                  : endpoint.endpoint_key + " is of another chain",
          hex_of(chain_.genesis_hash), shown_hash(genesis.value.value_or(std::nullopt)));
    }
  }

  void check_block() {
    report_.at = BlockFacts();
    report_.at->hash = primary_.block.value;
    const auto& header = primary_.header;
    if (!header.is_known()) {
      return add("chain.block", CheckStatus::unknown, Weight::critical, header.reason);
    }
    report_.at->number = header.value->number;
    report_.at->state_root = header.value->state_root;
    const auto& asked = input_.at.number;
    const bool is_wrong = asked && *asked != header.value->number;
    const bool is_unsure = primary_.has_reorganised;
    add("chain.block",
        is_wrong    ? CheckStatus::fail
        : is_unsure ? CheckStatus::unknown
                    : CheckStatus::pass,
        Weight::critical,
        is_wrong    ? "the number and the hash are of two blocks"
        : is_unsure ? "the chain replaced this block while it was looked at"
                    : "number and hash belong together",
        asked ? std::to_string(*asked) : std::string(), std::to_string(header.value->number));
    check_header_hash(*header.value);
  }

  void check_header_hash(const Header& header) {
    const Hash hash = hash_of_header(header);
    if (hash == *primary_.block.value) return;
    add("chain.header_hash", chain_.requires_header_hash ? CheckStatus::fail : CheckStatus::warn,
        chain_.requires_header_hash ? Weight::critical : Weight::info,
        "the header that the node tells does not have the hash of the block", hex_of(hash),
        hex_of(*primary_.block.value));
  }

  void check_finality() {
    const auto& final_number = primary_.final_number;
    const auto& header = primary_.header;
    const auto& canonical = primary_.is_canonical;
    Check check{"chain.finalized", CheckStatus::unknown, Weight::important, Source::rpc,
                !final_number.is_known() ? final_number.reason
                : !header.is_known()     ? header.reason
                                         : canonical.reason};
    if (final_number.is_known() && header.is_known() && canonical.is_known()) {
      const bool is_final = *canonical.value && header.value->number <= *final_number.value;
      report_.is_final = is_final;
      check.actual = std::to_string(header.value->number);
      check.expected = "at most " + std::to_string(*final_number.value);
      const bool may_be_open = input_.at.is_best() && *canonical.value;
      check.status = is_final      ? CheckStatus::pass
                     : may_be_open ? CheckStatus::warn
                                   : CheckStatus::fail;
      check.detail = is_final           ? "the block is final"
                     : *canonical.value ? "the block is not final yet"
                                        : "the block is on an abandoned fork";
      if (!is_final) warn("not_final", "The block is not final: the chain may still drop it.");
    }
    report_.add(std::move(check));
  }

  // A node that is not synchronized reports an old head as the current one.
  void check_head_age() {
    const bool is_of_now = !input_.at.hash && !input_.at.number;
    const auto& time = primary_.time_ms.value;
    if (!is_of_now || !time || !*time) return;
    const std::int64_t age_ms =
        report_.generated_at_ms - static_cast<std::int64_t>(std::min<std::uint64_t>(
                                      **time, 1ull << 62));
    const bool is_old = age_ms > std::int64_t{chain_.head_age_ms_max};
    add("chain.head_age", is_old ? CheckStatus::fail : CheckStatus::pass, Weight::important,
        is_old ? "the node is behind, or the chain stands still" : "the head is recent",
        "at most " + std::to_string(chain_.head_age_ms_max / 1'000) + " s",
        std::to_string(age_ms / 1'000) + " s");
  }

  // Finds out whether the wanted code is authorised or scheduled but not yet active at the block.
  // Later checks depend on it.
  void find_state() {
    if (!primary_.code_hash.is_known() || !wanted_ || runs_wanted()) return;
    const Authorization* const authorized = authorization();
    is_pending_ = authorized != nullptr && authorized->code_hash == *wanted_;
    if (facts_.parachain) is_pending_ = is_pending_ || is_stored(*facts_.parachain);
    report_.is_pending = is_pending_;
  }

  [[nodiscard]] bool is_stored(const ParachainFacts& parachain) const {
    const auto& future = parachain.relay_future.value;
    if (future && *future == *wanted_) return true;
    const auto& pending = parachain.pending_code.value;
    if (!pending || !*pending || !input_.code) return false;
    const Bytes length = compact_of(static_cast<std::uint32_t>(input_.code->size()));
    return **pending == blake2_256({ByteView(length), ByteView(*input_.code)});
  }

  void check_live_code() {
    const auto& fact = primary_.code_hash;
    const std::string id = "live.code_hash";
    if (!fact.is_known()) return add(id, CheckStatus::unknown, Weight::critical, fact.reason);
    if (!*fact.value) {
      return add(id, CheckStatus::unknown, Weight::critical, "the node tells of no code at all");
    }
    const std::string actual = hex_of(**fact.value);
    if (!wanted_) {
      if (is_content_equal()) {
        return add(id, CheckStatus::pass, Weight::critical,
                   "the code of the chain has the uncompressed hash that is expected", {}, actual);
      }
      const bool is_expected = input_.expected.uncompressed_code_hash.has_value();
      const bool is_known = facts_.fetched != nullptr;
      return add(id,
                 !is_expected ? CheckStatus::skip
                 : is_known   ? CheckStatus::fail
                              : CheckStatus::unknown,
                 Weight::critical,
                 !is_expected ? "no code hash was expected"
                 : is_known   ? "the code of the chain has another uncompressed hash"
                              : facts_.fetch_problem,
                 {}, actual);
    }
    add_live_code(id, actual);
  }

  void add_live_code(const std::string& id, const std::string& actual) {
    const std::string expected = hex_of(*wanted_);
    if (runs_wanted()) {
      add(id, CheckStatus::pass, Weight::critical, "the chain has the code", expected, actual);
    } else if (is_pending_) {
      add(id, CheckStatus::warn, Weight::critical, "the chain has the code not yet", expected,
          actual);
    } else if (is_content_equal()) {
      report_.is_content_equal = true;
      add(id, CheckStatus::warn, Weight::critical,
          "the chain has another compression of the same code", expected, actual);
    } else if (input_.mode == VerifyMode::authorization) {
      add(id, CheckStatus::skip, Weight::critical, "the chain does not have the code", expected,
          actual);
    } else {
      add(id, CheckStatus::fail, Weight::critical, "the chain has other code", expected, actual);
    }
  }

  [[nodiscard]] bool is_content_equal() const {
    if (facts_.fetched == nullptr || !facts_.fetched->uncompressed_hash) return false;
    const Hash& content = *facts_.fetched->uncompressed_hash;
    return input_.expected.uncompressed_code_hash == content ||
           (report_.code && report_.code->uncompressed_hash == content) ||
           input_.expected.code_hash == content;
  }

  void check_code_bytes() {
    if (facts_.fetched == nullptr) {
      if (facts_.fetch_problem.empty()) return;
      return add("live.code_bytes", CheckStatus::unknown, Weight::important, facts_.fetch_problem);
    }
    const bool is_same = code_hash() == facts_.fetched->code_hash;
    add("live.code_bytes", is_same ? CheckStatus::pass : CheckStatus::fail, Weight::important,
        is_same ? "the bytes of the code have the hash that the node tells"
                : "the bytes of the code have another hash than the node tells",
        hex_of(facts_.fetched->code_hash), shown_hash(code_hash()));
  }

  // The version section of the code that the chain runs; null if its bytes are not known.
  [[nodiscard]] const RuntimeVersion* section() const {
    if (facts_.fetched != nullptr && facts_.fetched->version) return &*facts_.fetched->version;
    const bool is_same = report_.code && code_hash() == report_.code->code_hash;
    return is_same && report_.code->version ? &*report_.code->version : nullptr;
  }

  void check_runtime() {
    const auto& fact = primary_.version;
    const RuntimeVersion* const inside = section();
    if (!fact.is_known()) {
      add("live.version", CheckStatus::unknown, Weight::critical, fact.reason);
    } else {
      const RuntimeVersion& told = *fact.value;
      const bool is_same = inside == nullptr || (inside->spec_name == told.spec_name &&
                                                 inside->spec_version == told.spec_version);
      add("live.version", is_same ? CheckStatus::pass : CheckStatus::fail, Weight::critical,
          inside == nullptr ? "the version is the node's word"
          : is_same         ? "the node tells the version that the code has"
                            : "the node tells another version than the code has",
          inside == nullptr ? std::string() : described(*inside), described(told));
    }
    const bool is_of_new = runs_wanted() || !wanted_;
    if (fact.is_known()) {
      auto& place = is_of_new ? report_.runtime : report_.previous_runtime;
      place = RuntimeFacts{*fact.value, Source::rpc};
    }
    if (report_.code) return;  // check_code() has compared its version
    std::optional<RuntimeVersion> version;
    if (is_of_new || !is_pending_) version = fact.value;
    if (input_.mode == VerifyMode::authorization && !runs_wanted()) version.reset();
    check_version(input_.expected, version, Source::rpc, report_);
  }

  static std::string described(const RuntimeVersion& version) {
    return version.spec_name + "-" + std::to_string(version.spec_version);
  }

  void check_authorization() {
    const auto& fact = primary_.authorization;
    const auto& expected = input_.expected.authorized_hash;
    const bool is_asked = input_.mode == VerifyMode::authorization || expected ||
                          input_.expected.check_version.has_value();
    if (fact.is_known()) report_.authorization = fact.value->value_or(Authorization());
    if (!is_asked) return;
    if (!fact.is_known()) {
      return add("auth.present", CheckStatus::unknown, Weight::critical, fact.reason);
    }
    const Authorization* const authorized = authorization();
    const std::optional<Hash> target = expected ? expected : wanted_;
    if (authorized == nullptr) return add_absent(expected.has_value());
    add("auth.present", CheckStatus::pass, Weight::critical, "an upgrade is authorised");
    if (target) add_target(*target, *authorized, expected.has_value());
    check_flag(*authorized);
  }

  void add_absent(bool is_expected) {
    if (runs_wanted() && !is_expected) {
      return add("auth.present", CheckStatus::skip, Weight::critical,
                 "nothing is authorised any more: the chain has the code already");
    }
    // Unless a hash was expected, a missing authorisation does not contradict the proposal: it may
    // not be enacted yet. So the check is not critical.
    add("auth.present", CheckStatus::fail, is_expected ? Weight::critical : Weight::important,
        "no upgrade is authorised at this block");
    report_.next_steps.emplace_back(
        "Ask again once the referendum is enacted: nothing is authorised at this block.");
  }

  void add_target(const Hash& target, const Authorization& authorized, bool is_expected) {
    const bool is_same = authorized.code_hash == target;
    const bool is_later = !is_same && !is_expected && runs_wanted();
    add("auth.hash",
        is_same    ? CheckStatus::pass
        : is_later ? CheckStatus::warn
                   : CheckStatus::fail,
        Weight::critical,
        is_same    ? "it is authorised"
        : is_later ? "the chain has the code, and a later upgrade is authorised"
                   : "another code is authorised, perhaps by a later referendum",
        hex_of(target), shown_hash(authorized.code_hash));
  }

  void check_flag(const Authorization& authorized) {
    if (input_.expected.check_version) {
      report_.compare("auth.check_version", Weight::important, Source::rpc,
                      *input_.expected.check_version, authorized.check_version,
                      "whether the chain checks the new version", "it is not known");
    }
    if (authorized.check_version == false) {
      warn("without_checks", "The authorisation leaves out the chain's own checks.");
    }
  }

  // Whether the chain's can_set_code would accept the new code.
  void check_increase() {
    const bool is_asked = input_.mode == VerifyMode::authorization || is_pending_;
    if (!is_asked || runs_wanted() || !report_.code || !report_.code->version) return;
    const auto& current = primary_.version;
    if (!current.is_known()) {
      return add("version.increases", CheckStatus::unknown, Weight::critical, current.reason);
    }
    const RuntimeVersion& now = *current.value;
    const RuntimeVersion& next = *report_.code->version;
    warn_of_changes(now, next);
    const bool is_same_name = now.spec_name == next.spec_name;
    const bool may_pass = is_same_name && next.spec_version > now.spec_version;
    const bool is_checked = !leaves_out_checks();
    add("version.increases",
        may_pass     ? CheckStatus::pass
        : is_checked ? CheckStatus::fail
                     : CheckStatus::warn,
        Weight::critical,
        may_pass       ? "the name stays and the version grows"
        : is_same_name ? "SpecVersionNeedsToIncrease: the version does not grow"
                       : "InvalidSpecName: the name of the runtime changes",
        described(now), described(next));
  }

  [[nodiscard]] bool leaves_out_checks() const {
    const Authorization* const authorized = authorization();
    if (authorized != nullptr && wanted_ && authorized->code_hash == *wanted_) {
      return authorized->check_version == false;
    }
    return report_.proposal &&
           skips_checks(report_.proposal->kind, report_.proposal->check_version);
  }

  void warn_of_changes(const RuntimeVersion& before, const RuntimeVersion& after) {
    if (before.transaction_version != after.transaction_version) {
      warn("transaction_version_changed",
           "The transaction version changes: offline signers must take the new metadata.");
    }
    if (before.state_version != after.state_version) {
      warn("state_version_changed", "The state version changes.");
    }
  }

  void check_sources() {
    if (chain_.endpoints.size() < 2) return;
    bool all_known = primary_.code_hash.is_known() &&
                     facts_.endpoints.size() == chain_.endpoints.size();
    for (const EndpointFacts& endpoint : facts_.endpoints) {
      const auto& other = endpoint.code_hash;
      const auto& version = endpoint.version;
      all_known = all_known && other.is_known();
      const bool differs =
          (other.is_known() && primary_.code_hash.is_known() &&
           *other.value != *primary_.code_hash.value) ||
          (version.is_known() && primary_.version.is_known() &&
           (version.value->spec_version != primary_.version.value->spec_version ||
            version.value->spec_name != primary_.version.value->spec_name));
      if (!differs) continue;
      return add("sources.agree", CheckStatus::fail, Weight::critical,
                 endpoint.endpoint_key + " and " + primary_.endpoint_key +
                     " tell different things of the same block",
                 shown_hash(code_hash()), shown_hash(other.value.value_or(std::nullopt)));
    }
    do_agree_ = all_known;
    // An endpoint that does not answer is no contradiction, but adds no assurance.
    const bool needs_all = input_.min_assurance >= 4;
    add("sources.agree", all_known ? CheckStatus::pass : CheckStatus::unknown,
        all_known || needs_all ? Weight::critical : Weight::info,
        all_known ? "all endpoints tell the same code hash of the block"
                  : "not all endpoints could tell of this block");
  }

  void check_transition(const TransitionFacts& facts) {
    report_.from = BlockFacts();
    report_.from->hash = facts.from.block.value;
    if (facts.from.header.is_known()) {
      report_.from->number = facts.from.header.value->number;
      report_.from->state_root = facts.from.header.value->state_root;
    }
    if (facts.from.version.is_known() && !is_unchanged(facts)) {
      report_.previous_runtime = RuntimeFacts{*facts.from.version.value, Source::rpc};
      if (primary_.version.is_known()) {
        warn_of_changes(*facts.from.version.value, *primary_.version.value);
      }
    }
    check_changed(facts);
    check_digest(facts);
    check_last_upgrade(facts);
  }

  [[nodiscard]] bool is_unchanged(const TransitionFacts& facts) const {
    return facts.from.code_hash.is_known() && primary_.code_hash.is_known() &&
           *facts.from.code_hash.value == *primary_.code_hash.value;
  }

  void check_changed(const TransitionFacts& facts) {
    const std::string id = "transition.code_changed";
    const auto& before = facts.from.code_hash;
    if (!before.is_known() || !primary_.code_hash.is_known()) {
      return add(id, CheckStatus::unknown, Weight::critical,
                 before.is_known() ? primary_.code_hash.reason : before.reason);
    }
    const std::string was = shown_hash(*before.value);
    const bool is_behind = facts.from.header.is_known() && primary_.header.is_known() &&
                           facts.from.header.value->number >= primary_.header.value->number;
    if (is_behind) {
      return add(id, CheckStatus::unknown, Weight::critical, "`from` is not before `at`");
    }
    if (!is_unchanged(facts)) {
      const bool is_other = wanted_ && !runs_wanted() && !is_pending_;
      return add(id, is_other ? CheckStatus::fail : CheckStatus::pass, Weight::critical,
                 is_other ? "the code changed, to another one" : "the code changed",
                 was, shown_hash(code_hash()));
    }
    // The code is the same at both blocks, so there is no transition to verify.
    const bool is_early = runs_wanted();
    add(id, is_pending_ || is_early ? CheckStatus::unknown : CheckStatus::fail, Weight::critical,
        is_early      ? "the chain had the code at `from` already: look for it earlier"
        : is_pending_ ? "the code has not changed yet"
                      : "the code did not change",
        was, shown_hash(code_hash()));
    if (is_early) {
      warn("upgraded_before", "The chain had this code at `from` already.");
      report_.next_steps.emplace_back("Ask again with an earlier `from`.");
    }
  }

  void check_digest(const TransitionFacts& facts) {
    if (is_unchanged(facts)) return;
    const auto& header = facts.applied_header;
    if (facts.applied_at.is_known()) report_.applied_at = *facts.applied_at.value;
    if (!header.is_known()) {
      return add("transition.digest", CheckStatus::unknown, Weight::important, header.reason);
    }
    const bool says_so = header.value->replaced_code();
    add("transition.digest", says_so ? CheckStatus::pass : CheckStatus::warn, Weight::important,
        says_so ? "the header of the block that changed the code says so"
                : "the header of the block that changed the code does not say so: the code was "
                  "written to storage in another way",
        {}, std::to_string(*facts.applied_at.value));
    if (!says_so) {
      warn("no_digest", "The code changed without the digest of an upgrade.");
    }
  }

  void check_last_upgrade(const TransitionFacts& facts) {
    const auto& last = facts.last_upgrade;
    if (!last.is_known() || !*last.value || !primary_.version.is_known()) return;
    const LastUpgrade& told = **last.value;
    const RuntimeVersion& version = *primary_.version.value;
    const bool is_same =
        told.spec_version == version.spec_version && told.spec_name == version.spec_name;
    add("transition.last_runtime_upgrade", is_same ? CheckStatus::pass : CheckStatus::warn,
        Weight::info,
        is_same ? "the block behind it ran the new runtime"
                : "the block behind it names another runtime",
        described(version), told.spec_name + "-" + std::to_string(told.spec_version));
  }

  void check_parachain(const ParachainFacts& facts) {
    const auto& current = facts.relay_current;
    if (!current.is_known() || !primary_.code_hash.is_known()) {
      add("para.relay_hash", CheckStatus::unknown, Weight::important,
          current.is_known() ? primary_.code_hash.reason : current.reason);
    } else {
      const bool is_same = *current.value == *primary_.code_hash.value;
      add("para.relay_hash", is_same ? CheckStatus::pass : CheckStatus::fail, Weight::important,
          is_same ? "the relay chain has the same code for it"
                  : "the relay chain has other code for it, which may be older or newer",
          shown_hash(code_hash()), shown_hash(*current.value));
    }
    check_pending(facts);
  }

  void check_pending(const ParachainFacts& facts) {
    const auto& value = facts.go_ahead.value;
    const auto signal = value && *value ? read_go_ahead(**value) : std::nullopt;
    const bool is_stored_here = facts.pending_code.value && *facts.pending_code.value;
    const bool is_scheduled = facts.relay_future.value && *facts.relay_future.value;
    if (signal == GoAhead::abort) {
      report_.is_refused_by_chain = is_pending_ || (wanted_ && !runs_wanted());
      warn("upgrade_aborted", "The relay chain aborted the upgrade: the stored code is discarded.");
    }
    add("para.pending",
        signal == GoAhead::abort ? CheckStatus::warn
        : facts.pending_code.is_known() ? CheckStatus::pass
                                        : CheckStatus::unknown,
        Weight::info,
        signal == GoAhead::abort ? "the relay chain aborted the upgrade"
        : is_stored_here         ? "code is stored and waits for the relay chain"
        : is_scheduled           ? "the relay chain has scheduled code"
        : facts.pending_code.is_known() ? "no code waits"
                                        : facts.pending_code.reason);
  }

  void set_assurance() {
    int level = 0;
    if (primary_.version.is_known()) level = 1;
    if (primary_.code_hash.is_known()) level = 2;
    const bool is_hashed =
        facts_.fetched != nullptr && code_hash() == facts_.fetched->code_hash;
    if (level == 2 && is_hashed) level = 3;
    if (level >= 2 && do_agree_) level = 5;
    report_.assurance = level;
  }

  const Input& input_;
  const ChainSettings& chain_;
  const OnlineFacts& facts_;
  const EndpointFacts& primary_;
  Report& report_;
  const std::optional<Hash> wanted_;
  bool is_pending_ = false;
  bool do_agree_ = false;
};

}  // namespace

void check_online(const Input& input, const ChainSettings& chain, const OnlineFacts& facts,
                  Report& report) {
  OnlineChecks(input, chain, facts, report).run();
}

bool needs_code(const Input& input, const Report& report, const EndpointFacts& primary) {
  if (!primary.code_hash.is_known() || !*primary.code_hash.value) return false;
  if (input.min_assurance == 3) return true;
  const auto wanted = wanted_code_hash(input, report);
  const bool is_same = wanted && *primary.code_hash.value == *wanted;
  if (is_same || input.mode == VerifyMode::authorization) return false;
  // The chain may have another compression of the same code, which only the bytes can show.
  return input.expected.uncompressed_code_hash.has_value() ||
         (report.code && report.code->uncompressed_hash.has_value());
}

}  // namespace turnpike::substrate
