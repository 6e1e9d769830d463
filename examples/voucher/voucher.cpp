// A lane: whoever sends `X-Voucher: <code>` pays with one of the calls that the voucher is good
// for.
//
//   turnpike voucher issue --calls 10     makes one and prints its code
//   turnpike voucher show CODE            tells how many calls are left
//
// What is left is a record in the gateway's store, the same for all nodes. A call is taken off when
// its upstream has succeeded, in one durable step that fails when another call was faster, so a
// voucher never pays more calls than it is good for, and a crash never takes one that was not
// served. The codes are kept as they are: a lane for real money would keep their digests.
#include <turnpike/helpers/mistakes.h>
#include <turnpike/helpers/own_call.h>
#include <turnpike/plugin.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace turnpike;

constexpr std::string_view credential_headers[] = {"x-voucher"};
constexpr LaneCommand commands[] = {{"voucher", "Issue vouchers and look at them"}};
constexpr std::string_view usage =
    "usage: turnpike voucher issue --calls N     N from 1 to 1000000\n"
    "       turnpike voucher show CODE\n";
constexpr std::size_t code_bytes = 32;
constexpr std::uint64_t calls_max = 1'000'000;
constexpr std::int64_t command_timeout_ms = 60'000;

std::string key_of(std::string_view code) { return "voucher/" + std::string(code); }

bool is_code(std::string_view text) {
  return text.size() == code_bytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

Refusal refusal(std::string_view code, std::string_view message) {
  Refusal refused;
  refused.code = code;
  refused.message = message;
  return refused;
}

Refusal exhausted() {
  return refusal("billing.credits_exhausted", "All calls of this voucher are spent.");
}
Refusal away() {
  return refusal("billing.ledger_unavailable", "Vouchers cannot be read now; nothing was spent.");
}

struct Voucher {
  std::uint64_t calls = 0;  // that are left
  std::uint64_t version = 0;
};

Result<std::optional<Voucher>> find(Store& store, std::string_view code, Call& call) {
  auto record = store.get(key_of(code), call);
  if (!record.ok()) return std::move(record).error();
  if (!record->has_value()) return std::optional<Voucher>();
  const auto calls = number_in((*record)->value);
  if (!calls) return Failure{FailureKind::contract, "the record of a voucher is no number", {}};
  return std::optional(Voucher{*calls, (*record)->version});
}

StoreOutcome write(Store& store, std::string_view code, const Voucher& voucher, Call& call) {
  const std::string key = key_of(code);
  const std::string value = std::to_string(voucher.calls);
  const StoreCheck check{key, voucher.version};
  const StoreWrite change{key, value};
  return store.apply({&check, 1}, {&change, 1}, call).outcome;
}

class VoucherTicket final : public Ticket {
 public:
  VoucherTicket(Store& store, std::string code) : store_(store), code_(std::move(code)) {}

  Finish settle(const ReplyView&, Call& call) override {
    for (;;) {
      const auto voucher = find(store_, code_, call);
      if (!voucher.ok()) return NotCharged{away()};
      // Calls that were admitted together may have spent it meanwhile: the reply is withheld.
      if (!*voucher || (*voucher)->calls == 0) return NotCharged{exhausted()};
      Voucher next = **voucher;
      --next.calls;
      switch (write(store_, code_, next, call)) {
        case StoreOutcome::applied: {
          Charged charged;
          charged.headers.push_back({"Voucher-Calls-Left", std::to_string(next.calls)});
          return charged;
        }
        case StoreOutcome::conflict:
          break;  // another call was faster: look again
        case StoreOutcome::unavailable:
          return NotCharged{away()};
        case StoreOutcome::unknown:
          return Unknown{refusal("billing.settlement_unknown",
                                 "Whether the voucher paid this call is not known yet.")};
      }
    }
  }
  // Nothing was taken, so there is nothing to give back.
  std::optional<Refusal> release(Outcome, int, Call&) override { return std::nullopt; }

 private:
  Store& store_;
  const std::string code_;
};

class BoundVouchers final : public BoundLane {
 public:
  explicit BoundVouchers(Store& store) : store_(store) {}

  Admission admit(const LaneRequest& request, Call& call) override {
    const std::string_view code = request.credentials.front().value;
    if (!is_code(code)) {
      return refusal("auth.credential_invalid", "X-Voucher holds no code of a voucher.");
    }
    const auto voucher = find(store_, code, call);
    if (!voucher.ok()) return away();
    if (!*voucher) return refusal("auth.credential_invalid", "There is no such voucher.");
    if ((*voucher)->calls == 0) return exhausted();
    return std::unique_ptr<Ticket>(std::make_unique<VoucherTicket>(store_, std::string(code)));
  }

 private:
  Store& store_;
};

class Vouchers final : public Lane {
 public:
  [[nodiscard]] LaneTraits traits() const noexcept override {
    return {.name = "voucher", .credential_headers = credential_headers, .commands = commands};
  }

  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override {
    Mistakes mistakes;
    mistakes.only(binding.settings, {});  // it has no settings
    if (!mistakes.none()) return mistakes.failure();
    return std::unique_ptr<BoundLane>(std::make_unique<BoundVouchers>(host.store()));
  }

  int command(std::string_view, const CommandInput& input, Console& console, Host& host) override {
    const auto words = input.words;
    if (words.size() == 3 && words[0] == "issue" && words[1] == "--calls") {
      const auto calls = number_in(words[2]);
      if (calls && *calls >= 1 && *calls <= calls_max) return issue(*calls, input, console, host);
    }
    if (words.size() == 2 && words[0] == "show" && is_code(words[1])) {
      return show(words[1], input, console, host);
    }
    console.error(usage);
    return 2;
  }

 private:
  static int issue(std::uint64_t calls, const CommandInput& input, Console& console, Host& host) {
    std::uint8_t bytes[code_bytes / 2];
    host.random().fill(bytes);
    std::string code;
    for (const std::uint8_t byte : bytes) {
      code += "0123456789abcdef"[byte >> 4];
      code += "0123456789abcdef"[byte & 15];
    }
    // Version 0: only if there is none of this code, as there never is.
    OwnCall call(host.clock(), command_timeout_ms);
    if (write(host.store(), code, {calls, 0}, call) != StoreOutcome::applied) {
      console.error("the voucher could not be recorded: try again");
      return 1;
    }
    print(code, calls, input, console);
    return 0;
  }

  static int show(std::string_view code, const CommandInput& input, Console& console, Host& host) {
    OwnCall call(host.clock(), command_timeout_ms);
    const auto voucher = find(host.store(), code, call);
    if (!voucher.ok() || !*voucher) {
      console.error(voucher.ok() ? "there is no such voucher" : voucher.error().message);
      return 1;
    }
    print(code, (*voucher)->calls, input, console);
    return 0;
  }

  static void print(std::string_view code, std::uint64_t calls, const CommandInput& input,
                    Console& console) {
    const std::string left = std::to_string(calls);
    if (input.json) {
      console.out("{\"voucher\":\"" + std::string(code) + "\",\"calls\":" + left + "}\n");
    } else {
      console.out(std::string(code) + " is good for " + left + " calls\n");
    }
  }
};

}  // namespace

TURNPIKE_LANE("voucher", "1.0.0", cooperative, [] { return std::make_unique<Vouchers>(); })
