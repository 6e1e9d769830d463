// People: the rules by which people are created, invited and become members: names and logins are
// checked here, tokens of links and invitations are made here and shown once.
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

  // Builds a person, with a new WebAuthn handle, to be stored. request.malformed for the name or
  // the login.
  [[nodiscard]] Result<NewPerson, base::Error> read(std::string_view name,
                                                    std::string_view login) const;
  // The WebAuthn user handle of a new person: 32 random bytes.
  [[nodiscard]] std::string new_handle() const;
  // Creates a person and a sign-in link. request.malformed for the name or the login; other errors:
  // as the store.
  [[nodiscard]] Result<InvitedPerson, base::Error> create(
      std::string_view name, std::string_view login, const std::optional<NewMembership>& membership,
      const Actor& actor);
  // Creates a new link and ends all earlier ones. nullopt: no such person. request.malformed: the
  // person is disabled.
  [[nodiscard]] Result<std::optional<InvitedPerson>, base::Error> link(std::string_view person_id,
                                                                       const Actor& actor);
  [[nodiscard]] Result<std::optional<Person>, base::Error> rename(std::string_view person_id,
                                                                  std::string_view name,
                                                                  const Actor& actor);

  // With an empty `email`, anyone who has the link may accept. request.malformed for the e-mail
  // address.
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

// Folds a login to lower case: 1 to 100 of a-z, 0-9, ".", "_", "-", "+" and "@". request.malformed.
[[nodiscard]] Result<std::string, base::Error> read_login(std::string_view text);

}  // namespace turnpike::identity
