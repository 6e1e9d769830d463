// People: the rules by which people come in and become members: names and logins are checked here,
// tokens of links and invitations are made here and shown once.
//
// Owned by app/; safe for concurrent use. Everything asks the store: call it from the blocking pool
// or a plain Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/members.h"
#include "identity/person.h"

namespace turnpike::identity {

struct InvitedPerson {
  Person person;
  std::string link_token;  // never stored, never shown again
};

struct CreatedInvitation {
  Invitation invitation;
  std::string token;  // never stored, never shown again
};

class People {
 public:
  static constexpr std::int64_t link_ms = 3'600'000;
  static constexpr std::int64_t invitation_ms = 7 * 24 * 3'600'000ll;

  People(PeopleStore& people, MemberStore& members, Environment environment, Random& random)
      : people_(people), members_(members), environment_(environment), random_(random) {}

  // A person to be, with a handle of their own. request.malformed for the name or the login.
  [[nodiscard]] Result<NewPerson, base::Error> read(std::string_view name,
                                                    std::string_view login) const;
  // What authenticators know a new person by: 32 random bytes.
  [[nodiscard]] std::string new_handle() const;
  // With a link that lets them in. request.malformed for the name or the login, and as the store.
  [[nodiscard]] Result<InvitedPerson, base::Error> create(
      std::string_view name, std::string_view login, const std::optional<NewMembership>& membership,
      const Actor& actor);
  // A new link; those before it end. Nothing: there is no such person. request.malformed: they are
  // disabled.
  [[nodiscard]] Result<std::optional<InvitedPerson>, base::Error> link(std::string_view person_id,
                                                                       const Actor& actor);
  [[nodiscard]] Result<std::optional<Person>, base::Error> rename(std::string_view person_id,
                                                                  std::string_view name,
                                                                  const Actor& actor);

  // `email` may be empty: then whoever has the link may accept. request.malformed for the e-mail.
  [[nodiscard]] Result<CreatedInvitation, base::Error> invite(std::string_view account_id,
                                                              std::string_view email, Role role,
                                                              const Actor& actor);
  [[nodiscard]] Result<Membership, base::Error> accept(std::string_view token,
                                                       std::string_view person_id,
                                                       const Actor& actor);

 private:
  PeopleStore& people_;
  MemberStore& members_;
  Environment environment_;
  Random& random_;
};

// 1 to 100 of a-z, 0-9, ".", "_", "-", "+" and "@", folded to lower case. request.malformed.
[[nodiscard]] Result<std::string, base::Error> read_login(std::string_view text);

}  // namespace turnpike::identity
