// A lane for prepaid vouchers. A request with the header `X-Voucher: <code>` uses up one of the
// voucher's calls.
//
//   turnpike voucher issue --calls 10     makes a voucher and prints its code
//   turnpike voucher show CODE            prints how many calls are left
//
// The number of calls left is a record in the gateway's store, which all nodes share. The lane
// subtracts a call after the upstream has succeeded, in one durable compare-and-set step. So a
// voucher never pays for more calls than it was issued for, and a crash never takes a call that was
// not served. The store holds the codes in plain text; a lane for real money would hold digests.
#include <turnpike/helpers/mistakes.h>
#include <turnpike/helpers/own_call.h>
#include <turnpike/plugin.h>

#include <charconv>

namespace {

using namespace turnpike;

constexpr std::string_view credential_headers[] = {"x-voucher"};
constexpr Command commands[] = {{"voucher", "Issue vouchers and look at them"}};
constexpr std::string_view usage =
    "usage: turnpike voucher issue --calls N     N from 1 to 1000000\n"
    "       turnpike voucher show CODE\n";
constexpr std::int64_t command_timeout_ms = 60'000;

Refusal exhausted() { return {"billing.credits_exhausted", "This voucher is spent."}; }
Refusal away() { return {"billing.ledger_unavailable", "Vouchers cannot be read now."}; }
Refusal invalid() { return {"auth.credential_invalid", "X-Voucher holds no code of a voucher."}; }

std::uint64_t number_in(std::string_view text) {  // 0: not a number
  std::uint64_t number = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && rest == text.data() + text.size() ? number : 0;
}

struct Voucher {
  std::uint64_t calls = 0;    // left
  std::uint64_t version = 0;  // of its record; 0: there is no such voucher
};

bool is_code(std::string_view text) {
  return !text.empty() && text.size() <= 41 && text.find_first_not_of("0123456789-") == text.npos;
}

Result<Voucher> find(Store& store, std::string_view code, Call& call) {
  const auto record = store.get("voucher/" + std::string(code), call);
  if (!record.ok()) return record.error();
  if (!*record) return Voucher{};
  return Voucher{number_in((*record)->value), (*record)->version};
}

// Writes the record only if it still has the version in `voucher`.
StoreOutcome write(Store& store, std::string_view code, const Voucher& voucher, Call& call) {
  const std::string key = "voucher/" + std::string(code);
  const std::string value = std::to_string(voucher.calls);
  const StoreCheck check{key, voucher.version};
  const StoreWrite change{key, value};
  return store.apply({&check, 1}, {&change, 1}, call).outcome;
}

struct VoucherTicket final : Ticket {
  VoucherTicket(Store& of, std::string text) : store(of), code(std::move(text)) {}
  Finish settle(const ReplyView&, Call& call) override {
    for (;;) {
      auto voucher = find(store, code, call);
      if (!voucher.ok()) return NotCharged{away()};
      // Concurrent calls may have used up the voucher since admit(). Then the reply is withheld.
      if (voucher->calls == 0) return NotCharged{exhausted()};
      --voucher->calls;
      switch (write(store, code, *voucher, call)) {
        case StoreOutcome::applied:
          return Charged{.headers = {{"Voucher-Calls-Left", std::to_string(voucher->calls)}}};
        case StoreOutcome::conflict:
          break;  // another call changed the record: read it again
        case StoreOutcome::unavailable:
          return NotCharged{away()};
        case StoreOutcome::unknown:
          return Unknown{{"billing.settlement_unknown", "Whether it was paid is not known yet."}};
      }
    }
  }
  // Nothing was taken, so there is nothing to give back.
  std::optional<Refusal> release(Outcome, int, Call&) override { return std::nullopt; }

  Store& store;
  const std::string code;
};

struct BoundVouchers final : BoundLane {
  explicit BoundVouchers(Store& of) : store(of) {}
  Admission admit(const LaneRequest& request, Call& call) override {
    const std::string_view code = request.credentials.front().value;
    if (!is_code(code)) return invalid();
    const auto voucher = find(store, code, call);
    if (!voucher.ok()) return away();
    if (voucher->version == 0) return invalid();
    if (voucher->calls == 0) return exhausted();
    return std::unique_ptr<Ticket>(std::make_unique<VoucherTicket>(store, std::string(code)));
  }

  Store& store;
};

struct Vouchers final : Lane {
  [[nodiscard]] Offers offers() const noexcept override { return {.commands = commands}; }
  [[nodiscard]] LaneTraits traits() const noexcept override {
    return {.name = "voucher", .credential_headers = credential_headers};
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override {
    Mistakes mistakes;
    mistakes.only(binding.settings, {});  // it has no settings
    if (!mistakes.none()) return mistakes.failure();
    return std::unique_ptr<BoundLane>(std::make_unique<BoundVouchers>(host.store()));
  }

  int command(std::string_view, const CommandInput& input, Console& console, Host& host) override {
    const auto words = input.words;
    OwnCall call(host.clock(), command_timeout_ms);
    const auto print = [&](std::string_view code, std::uint64_t calls) {
      console.out("{\"voucher\":\"" + std::string(code) + "\",\"calls\":" + std::to_string(calls) +
                  "}\n");
      return 0;
    };
    if (words.size() == 2 && words[0] == "show" && is_code(words[1])) {
      const auto voucher = find(host.store(), words[1], call);
      if (voucher.ok() && voucher->version != 0) return print(words[1], voucher->calls);
      console.error(voucher.ok() ? "there is no such voucher" : voucher.error().message);
      return 1;
    }
    const std::uint64_t calls =
        words.size() == 3 && words[0] == "issue" && words[1] == "--calls" ? number_in(words[2]) : 0;
    if (calls == 0 || calls > 1'000'000) return console.error(usage), 2;
    std::uint64_t random[2] = {};
    host.random().fill({reinterpret_cast<std::uint8_t*>(random), sizeof(random)});
    const std::string code = std::to_string(random[0]) + "-" + std::to_string(random[1]);
    if (write(host.store(), code, {calls, 0}, call) == StoreOutcome::applied) {
      return print(code, calls);
    }
    console.error("the voucher could not be recorded: try again");
    return 1;
  }
};

}  // namespace

TURNPIKE_LANE("voucher", "1.0.0", cooperative, [] { return std::make_unique<Vouchers>(); })
