// Prints ceremonies, honest and not, with what our checks say of them, for compare.mjs.
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "identity/webauthn.h"
#include "support/soft_authenticator.h"
#include "text/encoding.h"

namespace {

using namespace turnpike;
using nlohmann::json;
using support::Claims;
using support::SoftAuthenticator;

const identity::RelyingParty party{"localhost", "http://localhost:8404"};
const std::string challenge = Claims().challenge;
constexpr std::uint8_t proven = support::flag_up | support::flag_uv;

class Ceremonies {
 public:
  explicit Ceremonies(crypto::PasskeyAlgorithm algorithm) : authenticator_(algorithm) {}

  void add_all();
  [[nodiscard]] const json& list() const noexcept { return list_; }

 private:
  void add(const std::string& what, const Claims& claims) {
    add_registration(what, authenticator_.enrol(claims));
    add_assertion(what, authenticator_.prove(claims), 0);
  }
  void add_registration(const std::string& what, const identity::PasskeyRegistration& given);
  void add_assertion(const std::string& what, const identity::PasskeyAssertion& given,
                     std::uint32_t stored_count);
  void add_flips();

  json entry(const std::string& what, const std::string& kind, const std::string& credential) {
    return {
        {"what", std::string(name_of(authenticator_.key().algorithm())) + " " + kind + ", " + what},
        {"kind", kind},
        {"credential", json::parse(credential)},
        {"challenge", text::base64url(challenge)},
        {"origin", party.origin},
        {"partyId", party.id},
        {"publicKey", text::base64url(authenticator_.cose_key())}};
  }

  SoftAuthenticator authenticator_;
  json list_ = json::array();
};

void Ceremonies::add_registration(const std::string& what,
                                  const identity::PasskeyRegistration& given) {
  const std::string text = support::json_of(given);
  json one = entry(what, "registration", text);
  const auto read = identity::read_passkey_registration(text);
  const auto made = identity::check_registration(read.value(), party, challenge);
  one["taken"] = made.ok();
  if (made.ok()) {
    one["facts"] = {{"id", text::base64url(made->credential_id)},
                    {"counter", made->sign_count},
                    {"isBackupEligible", made->is_backup_eligible},
                    {"isBackedUp", made->is_backed_up},
                    {"aaguid", text::hex(made->aaguid)}};
  } else {
    one["why"] = made.error().message;
  }
  list_.push_back(std::move(one));
}

void Ceremonies::add_assertion(const std::string& what, const identity::PasskeyAssertion& given,
                               std::uint32_t stored_count) {
  const std::string text = support::json_of(given);
  json one = entry(what, "assertion", text);
  const auto read = identity::read_passkey_assertion(text);
  const auto facts =
      identity::check_assertion(read.value(), authenticator_.known(stored_count), party, challenge);
  one["storedCounter"] = stored_count;
  one["taken"] = facts.ok();
  if (facts.ok()) {
    one["facts"] = {{"counter", facts->sign_count}, {"isBackedUp", facts->is_backed_up}};
  } else {
    one["why"] = facts.error().message;
  }
  list_.push_back(std::move(one));
}

// Some bits of everything that is signed, and of the signature.
void Ceremonies::add_flips() {
  const identity::PasskeyAssertion whole = authenticator_.prove({.sign_count = 7});
  for (std::string identity::PasskeyAssertion::*member :
       {&identity::PasskeyAssertion::client_data, &identity::PasskeyAssertion::authenticator_data,
        &identity::PasskeyAssertion::signature}) {
    for (std::size_t bit = 3; bit < 8 * (whole.*member).size(); bit += 37) {
      identity::PasskeyAssertion flipped = whole;
      char& byte = (flipped.*member)[bit / 8];
      byte = static_cast<char>(byte ^ 1 << bit % 8);
      add_assertion("flipped bit " + std::to_string(bit), flipped, 0);
    }
  }
}

void Ceremonies::add_all() {
  add("honest", {});
  add("backed up", {.flags = proven | support::flag_be | support::flag_bs, .sign_count = 5});
  add("may be backed up", {.flags = proven | support::flag_be});
  add("extensions", {.flags = proven | support::flag_ed,
                     .more_data = "\xa1\x6b"
                                  "credProtect\x02"});
  add("extensions without their flag", {.more_data = "\xa1\x6b"
                                                     "credProtect\x02"});
  add("other members", {.more_client_data = R"(,"crossOrigin":false,"other":[{}])"});
  add("another type", {.type = "payment.get"});
  add("another challenge", {.challenge = std::string(32, 'd')});
  add("another origin", {.origin = "http://localhost:8405"});
  add("another site", {.party_id = "example.org"});
  add("nobody present", {.flags = support::flag_uv});
  add("nobody verified", {.flags = support::flag_up});
  add("backed up without being eligible", {.flags = proven | support::flag_bs});
  add_registration("no credential", authenticator_.enrol({.flags_taken = support::flag_at}));
  add_registration("a key cut short", authenticator_.enrol({.key_bytes = "\xa5\x01\x02\x03\x26"}));
  const struct {
    std::uint32_t stored, told;
  } counters[] = {{0, 0}, {0, 1}, {1, 2}, {5, 5}, {5, 4}, {5, 0}};
  for (const auto& [stored, told] : counters) {
    add_assertion("counter " + std::to_string(stored) + " then " + std::to_string(told),
                  authenticator_.prove({.sign_count = told}), stored);
  }
  add_flips();
  for (const std::size_t bytes : {1, 16, 1023}) {
    authenticator_.credential_id = std::string(bytes, 'i');
    add("an id of " + std::to_string(bytes) + " bytes", {});
  }
}

}  // namespace

int main() {
  json all = json::array();
  for (const crypto::PasskeyAlgorithm each : crypto::all_passkey_algorithms) {
    Ceremonies ceremonies(each);
    ceremonies.add_all();
    all.insert(all.end(), ceremonies.list().begin(), ceremonies.list().end());
  }
  std::puts(all.dump(1).c_str());
}
