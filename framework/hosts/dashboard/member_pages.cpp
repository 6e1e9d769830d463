#include <optional>
#include <vector>

#include "hosts/account/people_routes.h"
#include "hosts/dashboard/account_form.h"
#include "hosts/dashboard/people_routes.h"
#include "hosts/web/views.h"
#include "text/words.h"

namespace turnpike::hosts::dashboard {

namespace {

using base::Error;
using base::ErrorCode;
using identity::Role;
using site::Slots;

constexpr std::string_view members_page = "/members";

struct MembersPage {
  std::vector<identity::Member> members;
  std::vector<identity::Invitation> invitations;  // for admins and owners; else empty
};

Result<MembersPage, Error> read_members(const account::PooledPeople::Parts& parts,
                                        const AccountPage& page) {
  MembersPage shown;
  auto members = parts.members.members(page.account_id());
  if (!members.ok()) return std::move(members).error();
  shown.members = *std::move(members);
  if (page.membership.role < Role::admin) return shown;
  auto invitations = parts.members.invitations(page.account_id());
  if (!invitations.ok()) return std::move(invitations).error();
  shown.invitations = *std::move(invitations);
  return shown;
}

// Only owners may make owners.
void fill_choices(Slots slots, Role own, Role chosen) {
  for (const Role role : {Role::member, Role::admin, Role::owner}) {
    if (role > own) continue;
    Slots choice = slots.add("CHOICE");
    choice.set("CHOICE_NAME", name_of(role));
    choice.show_if(role == chosen, "IS_CHOSEN");
  }
}

void fill_member(Slots row, const identity::Member& member, const AccountPage& page) {
  const Role own = page.membership.role;
  const bool is_self = member.person_id == page.caller->id;
  const bool may_change = own >= Role::admin && member.role <= own;
  row.set("ID", member.person_id);
  row.set("NAME", member.name);
  row.set("EMAIL", member.email);
  row.set("ROLE", name_of(member.role));
  row.set("ADDED", text::day_text(member.created_at_ms));
  row.show_if(is_self, "IS_SELF");
  if (may_change) fill_choices(row.add("MAY_CHANGE"), own, member.role);
  if (is_self || may_change) row.set_if("BUTTON", is_self ? "Leave" : "Remove " + member.name);
}

void fill_invitations(Slots slots, const std::vector<identity::Invitation>& invitations,
                      const AccountPage& page) {
  slots.set("INVITATION_COUNT",
            web::count_of(invitations.size(), "open invitation", "open invitations"));
  slots.show_if(!invitations.empty(), "INVITATIONS");
  for (const identity::Invitation& invitation : invitations) {
    Slots row = slots.add("INVITATION");
    row.set("ID", invitation.id);
    row.set("EMAIL", invitation.email.empty() ? "whoever has the link" : invitation.email);
    row.set("ROLE", name_of(invitation.role));
    row.set("UNTIL", text::minute_text(invitation.expires_at_ms));
  }
  fill_choices(slots, page.membership.role, Role::member);
}

Result<std::string, Error> members_html(const WebRooms& rooms, const AccountPage& page,
                                        const web::Problem& problem) {
  const auto shown = rooms.people.ask([&] { return read_members(rooms.people.parts(), page); });
  if (!shown.ok()) return shown.error();
  const site::Frame frame = frame_of_account(rooms, page, "Members", members_page);
  return rooms.pages.page(frame, "dashboard/members.html", [&](Slots slots) {
    slots.set("ACCOUNT_ID", page.account_id());
    slots.set("HEADLINE", web::count_of(shown->members.size(), "member", "members") + " of " +
                              page.membership.account.name);
    slots.set("ROLE", name_of(page.membership.role));
    web::fill_problem(slots, problem);
    for (const identity::Member& member : shown->members) {
      fill_member(slots.add("MEMBER"), member, page);
    }
    if (page.membership.role < Role::admin) return;
    Slots admins = slots.add("FOR_ADMINS");
    admins.show_if(rooms.people.parts().by_mail.sends_mail(), "MAIL");
    fill_invitations(admins, shown->invitations, page);
  });
}

void show_members(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto html = members_html(rooms, *page, {});
  if (!html.ok()) return refuse_on(rooms, turn, *page, html.error(), "");
  turn.reply({.content_type = page_type, .body = *html});
}

void refuse_on_members(const WebRooms& rooms, Turn& turn, const Asked& asked, const Error& error) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto html = members_html(rooms, *page, {&error, turn.request_id()});
  if (!html.ok()) return refuse_on(rooms, turn, *page, error, members_page);
  web::send_refusal(turn, error, *html);
}

// Handles a form of the page: checks the session, runs `work` in the store, redirects to `next`.
// `work` takes the actor and returns a Result.
template <class Work>
void change_members(const WebRooms& rooms, Turn& turn, const Asked& asked, const std::string& next,
                    Work&& work) {
  const std::string back = path_of(asked.parameters[0], members_page);
  if (!web::stands_for(identity::Standing::stepped_up, rooms, turn, asked, back)) return;
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const auto done = rooms.people.ask([&] { return work(actor); });
  if (!done.ok()) return refuse_on_members(rooms, turn, asked, done.error());
  web::go_to(turn, next);
}

Error no_role() { return {ErrorCode::request_malformed, "Choose one of the roles."}; }

void use_set_role(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = path_of(asked.parameters[0], members_page);
  change_members(rooms, turn, asked, back,
                 [&](const identity::Actor& actor) -> Result<Unit, Error> {
                   const auto role = identity::role(field_of(asked, "role"));
                   if (!role) return no_role();
                   return rooms.people.parts().members.set_role(
                       asked.parameters[0], field_of(asked, "id"), *role, actor);
                 });
}

void use_remove_member(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string id = field_of(asked, "id");
  const std::string next = id == asked.caller->id ? std::string(web::own_path)
                                                  : path_of(asked.parameters[0], members_page);
  change_members(rooms, turn, asked, next, [&](const identity::Actor& actor) {
    return rooms.people.parts().members.remove(asked.parameters[0], id, actor);
  });
}

void use_withdraw(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = path_of(asked.parameters[0], members_page);
  change_members(rooms, turn, asked, back, [&](const identity::Actor& actor) {
    return rooms.people.parts().members.withdraw(asked.parameters[0], field_of(asked, "id"),
                                                 actor);
  });
}

void show_new_invitation(const WebRooms& rooms, Turn& turn, const AccountPage& page,
                         const std::string& link) {
  const site::Frame frame = frame_of_account(rooms, page, "Your invitation", members_page);
  turn.reply({.status = 201,
              .content_type = page_type,
              .body = rooms.pages.page(frame, "dashboard/new_invitation.html", [&](Slots slots) {
                slots.set("ACCOUNT_ID", page.account_id());
                slots.set("SECRET", link);
              })});
}

void use_invite(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = path_of(asked.parameters[0], members_page);
  if (!web::stands_for(identity::Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const auto link = rooms.people.ask([&]() -> Result<std::string, Error> {
    const auto role = identity::role(field_of(asked, "role"));
    if (!role) return no_role();
    const auto created = rooms.people.parts().people.invite(asked.parameters[0],
                                                            field_of(asked, "email"), *role, actor);
    if (!created.ok()) return created.error();
    return account::link_url(rooms.people, "/invitation", created->token);
  });
  if (!link.ok()) return refuse_on_members(rooms, turn, asked, link.error());
  show_new_invitation(rooms, turn, *page, *link);
}

#define MEMBERS "/dashboard/{billing_account_id}/members"

constexpr Route<WebRooms> member_rows[] = {
    {.facts = web::page(MEMBERS, "dashboard_members"), .answer = show_members},
    {.facts = web::form(MEMBERS "/role", "member", form_of_admins), .answer = use_set_role},
    {.facts = web::form(MEMBERS "/remove", "member", form_of_members),
     .answer = use_remove_member},
    {.facts = web::form(MEMBERS "/invitations", "invitations", form_of_admins),
     .answer = use_invite},
    {.facts = web::form(MEMBERS "/invitations/withdraw", "invitation", form_of_admins),
     .answer = use_withdraw},
};
#undef MEMBERS

}  // namespace

std::span<const Route<WebRooms>> member_routes() noexcept { return member_rows; }

}  // namespace turnpike::hosts::dashboard
