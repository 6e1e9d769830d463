#include "hosts/dashboard/auto_top_up_pages.h"

#include <algorithm>
#include <charconv>

#include "commerce/shop.h"
#include "hosts/auto_top_up_json.h"
#include "hosts/dashboard/account_form.h"
#include "hosts/dashboard/purchase_words.h"
#include "hosts/dashboard/words.h"
#include "hosts/web/events.h"
#include "hosts/web/views.h"

namespace turnpike::hosts::dashboard {

namespace {

using base::Error;
using base::ErrorCode;
using commerce::AutoTopUp;
using commerce::AutoTopUps;
using commerce::MethodSetup;
using commerce::Policy;
using commerce::SetupStanding;
using commerce::TopUpState;
using identity::Role;
using site::Slots;

constexpr std::string_view top_up_page = "/auto-top-up";
constexpr std::string_view methods_page = "/auto-top-up/methods";

AutoTopUps* top_ups_of(const WebRooms& rooms) {
  commerce::Shop* const shop = rooms.account.parts().shop;
  return shop == nullptr ? nullptr : &shop->auto_top_ups();
}

Error not_here() {
  return {ErrorCode::purchase_offer_not_found,
          "Nothing is sold here that a saved method could be charged for."};
}

std::string path_of_method(std::string_view account_id, std::string_view setup_id) {
  return path_of(account_id, methods_page) + "/" + std::string(setup_id);
}

// ---- words --------------------------------------------------------------------------------------

struct StandingWords {
  std::string_view state;
  std::string word;
};
StandingWords standing_words(const commerce::TopUpStanding& standing) {
  switch (standing.state) {
    case TopUpState::off: return {"unknown", "off"};
    case TopUpState::active: return {"ok", "on"};
    case TopUpState::paused_limit: return {"warn", "paused by a limit"};
    case TopUpState::paused_failure: return {"bad", "paused"};
    case TopUpState::needs_payment_method: return {"bad", "needs a method of payment"};
  }
  return {};
}

StandingWords standing_words(const MethodSetup& setup) {
  if (setup.removal != commerce::Removal::none) return {"unknown", "removed"};
  if (setup.is_gone) return {"bad", "removed"};
  switch (setup.standing) {
    case SetupStanding::needs_reconciliation: return {"unknown", "being begun"};
    case SetupStanding::requires_action: return {"warn", "waits for you"};
    case SetupStanding::succeeded: return {"ok", "saved"};
    case SetupStanding::failed: return {"bad", "not saved"};
  }
  return {};
}

std::string meaning_of(const MethodSetup& setup) {
  if (setup.removal == commerce::Removal::wanted) {
    return "It was removed and is charged no more. The payment service has not confirmed yet "
           "that it forgot it; we ask it again by ourselves.";
  }
  if (setup.removal == commerce::Removal::done) {
    return "It was removed, and the payment service has forgotten it.";
  }
  if (setup.is_gone) return commerce::setup_failure_text("payment_method_gone");
  switch (setup.standing) {
    case SetupStanding::needs_reconciliation:
      return "The payment service has not answered yet. We ask it again by ourselves.";
    case SetupStanding::requires_action:
      return "The method is saved on a page of the payment service. If you were there already, "
             "there is nothing to do: we look by ourselves.";
    case SetupStanding::succeeded:
      return "Auto Top-Up can charge it, once its policy names it.";
    case SetupStanding::failed:
      return commerce::setup_failure_text(setup.failure_code);
  }
  return {};
}

// Returns "visa, ends in 4242, until 4/2031", or the id of a method that is not saved yet.
std::string label_of(const MethodSetup& setup) {
  const SavedMethod& method = setup.method;
  if (setup.standing != SetupStanding::succeeded) return setup.id;
  std::string label = method.brand.empty() ? setup.processor : method.brand;
  if (!method.last4.empty()) label += ", ends in " + method.last4;
  if (method.expires_month > 0) {
    label += ", until " + std::to_string(method.expires_month) + "/" +
             std::to_string(method.expires_year);
  }
  return label;
}

std::string sentence_of(const Policy& policy) {
  if (!policy.is_enabled) return "Off";
  return "Below " + credits_text(policy.threshold) + ", buys for " +
         money(policy.currency, policy.minor) + ", at most " +
         money(policy.currency, policy.monthly_limit_minor) + " a month";
}

// ---- the form -----------------------------------------------------------------------------------

struct PolicyForm {
  bool is_enabled = false;
  std::string threshold = {};  // as typed
  std::string amount = {};
  std::string limit = {};
  std::string method = {};
  std::string revision = {};
  std::string key = {};
  web::Problem problem = {};
};

PolicyForm form_of(const AutoTopUp& seen, const std::vector<MethodSetup>& methods) {
  const Policy& policy = seen.policy;
  if (policy.revision == 0) {
    const auto usable = std::find_if(methods.begin(), methods.end(),
                                     [](const MethodSetup& each) { return each.is_usable(); });
    return {.threshold = "2,000",
            .amount = "10.00",
            .limit = "50.00",
            .method = usable == methods.end() ? std::string() : usable->id,
            .revision = "0"};
  }
  return {.is_enabled = policy.is_enabled,
          .threshold = figure(policy.threshold),
          .amount = commerce::amount_text(policy.minor),
          .limit = commerce::amount_text(policy.monthly_limit_minor),
          .method = policy.setup_id,
          .revision = std::to_string(policy.revision)};
}

std::optional<std::int64_t> typed_number(std::string_view text, std::int64_t maximum) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != ',') plain += c;
  }
  std::int64_t value = 0;
  const char* const end = plain.data() + plain.size();
  const auto [rest, problem] = std::from_chars(plain.data(), end, value);
  if (plain.empty() || problem != std::errc{} || rest != end || value < 0 || value > maximum) {
    return std::nullopt;
  }
  return value;
}

Error mistyped(std::string_view what) {
  return {ErrorCode::request_body_rejected, std::string(what)};
}

Result<commerce::PolicyWish, Error> wish_of(const AccountPage& page, const PolicyForm& form) {
  constexpr std::int64_t revision_max = 1'000'000'000;
  commerce::PolicyWish wish;
  Policy& policy = wish.policy;
  policy.account_id = page.account_id();
  policy.is_enabled = form.is_enabled;
  policy.setup_id = form.method;
  const auto threshold = typed_number(form.threshold, commerce::threshold_max);
  if (!threshold || *threshold == 0) {
    return mistyped("The threshold is no number of Credits such as 2,000.");
  }
  const auto minor = typed_amount(form.amount);
  if (!minor || *minor == 0) return mistyped("The amount is none such as 10 or 10.50.");
  const auto limit = typed_amount(form.limit, commerce::monthly_limit_digits_max);
  if (!limit || *limit == 0) return mistyped("The monthly limit is no amount such as 50.");
  if (policy.is_enabled && form.method.empty()) {
    return mistyped("Choose the method of payment that is charged; if there is none, save one.");
  }
  const auto revision = typed_number(form.revision, revision_max);
  policy.threshold = *threshold;
  policy.minor = *minor;
  policy.monthly_limit_minor = *limit;
  wish.expected_revision = revision.value_or(-1);
  // Sending the form again with equal values is a retry; changed values make another policy.
  wish.idempotency_key = "page:" + form.key + ":" + std::to_string(policy.is_enabled) + ":" +
                         std::to_string(policy.threshold) + ":" + std::to_string(policy.minor) +
                         ":" + std::to_string(policy.monthly_limit_minor) + ":" + form.method;
  if (revision && !form.key.empty() && is_idempotency_key(wish.idempotency_key)) return wish;
  return Error{ErrorCode::request_malformed, "The form is none of this page's: load it anew."};
}

// ---- the page -----------------------------------------------------------------------------------

struct TopUpRead {
  AutoTopUp seen;
  std::vector<MethodSetup> methods;
  std::vector<Policy> revisions;
};

Result<TopUpRead, Error> read_all(AutoTopUps& top_ups, const std::string& account_id) {
  auto seen = top_ups.look(account_id);
  if (!seen.ok()) return std::move(seen).error();
  auto methods = top_ups.setups(account_id);
  if (!methods.ok()) return std::move(methods).error();
  auto revisions = top_ups.revisions(account_id);
  if (!revisions.ok()) return std::move(revisions).error();
  return TopUpRead{*std::move(seen), *std::move(methods), *std::move(revisions)};
}

void fill_standing(Slots slots, const AutoTopUp& seen) {
  const StandingWords words = standing_words(seen.standing);
  slots.set("CLASS", words.state);
  slots.set("WORD", words.word);
  slots.set_if("PAUSE", commerce::is_paused(seen.standing.state)
                            ? commerce::pause_text(seen.standing)
                            : std::string());
  slots.set("POLICY", sentence_of(seen.policy));
  slots.set("BALANCE", credits_text(seen.balance));
  if (seen.pending > 0) slots.set_if("PENDING", credits_text(seen.pending));
  slots.set("SPENT", money(seen.policy.currency, seen.spent_minor));
  if (seen.standing.next_attempt_ms > 0) slots.set_if("NEXT", when(seen.standing.next_attempt_ms));
  if (seen.setup) slots.set_if("METHOD_CHARGED", label_of(*seen.setup));
  if (!seen.last_run) return;
  Slots run = slots.add("LAST_RUN");
  const PurchaseWords run_words = purchase_words(*seen.last_run, false);
  run.set("RUN", path_of(seen.last_run->account_id, "/purchases/" + seen.last_run->id));
  run.set("RUN_CLASS", run_words.state);
  run.set("RUN_WORD", run_words.word);
  run.set("RUN_AT", when(seen.last_run->created_at_ms));
}

void fill_methods(Slots slots, const std::vector<MethodSetup>& methods) {
  slots.show(methods.empty() ? "HAS_NO_METHOD" : "HAS_METHODS");
  for (const MethodSetup& method : methods) {
    const StandingWords words = standing_words(method);
    Slots row = slots.add("METHOD");
    row.set("METHOD_PATH", path_of_method(method.account_id, method.id));
    row.set("METHOD_LABEL", label_of(method));
    row.set("METHOD_CLASS", words.state);
    row.set("METHOD_WORD", words.word);
    row.set("METHOD_BEGUN", when(method.created_at_ms));
  }
}

// Former members are shown by their ids.
web::NamesById names_of_members(const WebRooms& rooms, const AccountPage& page) {
  const auto members = rooms.people.ask(
      [&] { return rooms.people.parts().members.members(page.account_id()); });
  web::NamesById names;
  if (!members.ok()) return names;
  for (const identity::Member& member : *members) names[member.person_id] = member.name;
  return names;
}

void fill_revisions(Slots slots, const std::vector<Policy>& revisions,
                    const web::NamesById& names) {
  slots.show_if(!revisions.empty(), "HAS_REVISIONS");
  for (const Policy& policy : revisions) {
    Slots row = slots.add("REVISION");
    row.set("NUMBER", policy.revision);
    row.set("SENTENCE", sentence_of(policy));
    row.set("AUTHOR", web::who_is(policy.created_by, names));
    row.set("MADE", when(policy.created_at_ms));
  }
}

void fill_form(Slots slots, const PolicyForm& form, const std::vector<MethodSetup>& methods) {
  Slots own = slots.add("FORM");
  own.show_if(form.is_enabled, "IS_ENABLED");
  own.set("THRESHOLD", form.threshold);
  own.set("AMOUNT", form.amount);
  own.set("LIMIT", form.limit);
  own.set("REVISION_NUMBER", form.revision);
  own.set("KEY", form.key);
  own.set("CURRENCY", commerce::Terms().currency);
  web::fill_problem(own, form.problem);
  bool has_choice = false;
  for (const MethodSetup& method : methods) {
    if (!method.is_usable()) continue;
    has_choice = true;
    Slots row = own.add("CHOICE");
    row.set("CHOICE_ID", method.id);
    row.set("CHOICE_LABEL", label_of(method));
    row.show_if(method.id == form.method, "IS_CHOSEN");
  }
  own.show(has_choice ? "HAS_CHOICE" : "HAS_NO_CHOICE");
}

// Without `form`: shows the stored policy.
Result<std::string, Error> top_up_html(const WebRooms& rooms, const AccountPage& page,
                                       std::optional<PolicyForm> form) {
  AutoTopUps* const top_ups = top_ups_of(rooms);
  const site::Frame frame = frame_of_account(rooms, page, "Auto Top-Up", top_up_page);
  Result<TopUpRead, Error> read = TopUpRead{};
  if (top_ups != nullptr) read = read_all(*top_ups, page.account_id());
  if (!read.ok()) return read.error();
  const auto processors = top_ups == nullptr
                              ? std::vector<const commerce::ProcessorInService*>()
                              : top_ups->processors();
  // An existing policy is shown, and can be turned off, even if nothing is sold any more.
  const bool is_there = !processors.empty() || read->seen.policy.revision > 0;
  if (!form) form = form_of(read->seen, read->methods);
  if (form->key.empty()) form->key = new_form_key(rooms);
  web::NamesById names;
  if (!read->revisions.empty()) names = names_of_members(rooms, page);
  return rooms.pages.page(frame, "dashboard/auto_top_up.html", [&](Slots slots) {
    slots.set("PURCHASES", path_of(page.account_id(), "/purchases"));
    slots.set("PATH", path_of(page.account_id(), top_up_page));
    slots.set("METHODS_PATH", path_of(page.account_id(), methods_page));
    slots.set("SAVE_KEY", new_form_key(rooms));
    if (!is_there) return slots.show("IS_NOT_THERE");
    Slots there = slots.add("THERE");
    fill_standing(there, read->seen);
    fill_methods(there, read->methods);
    fill_revisions(there, read->revisions, names);
    if (page.membership.role < Role::admin) return there.show("IS_MEMBER");
    fill_form(there, *form, read->methods);
    for (const auto* processor : processors) {
      Slots row = there.add("SAVE");
      row.set("PROCESSOR", processor->name);
      row.set("PROCESSOR_TITLE", processor->title);
    }
  });
}

void show_top_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto html = top_up_html(rooms, *page, std::nullopt);
  if (!html.ok()) return refuse_on(rooms, turn, *page, html.error(), "");
  turn.reply({.content_type = page_type, .body = *html});
}

void use_policy(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = path_of(asked.parameters[0], top_up_page);
  if (!web::stands_for(identity::Standing::signed_in, rooms, turn, asked, back)) return;
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  PolicyForm form{.is_enabled = field_of(asked, "enabled") == "yes",
                  .threshold = field_of(asked, "threshold"),
                  .amount = field_of(asked, "amount"),
                  .limit = field_of(asked, "limit"),
                  .method = field_of(asked, "method"),
                  .revision = field_of(asked, "revision"),
                  .key = field_of(asked, "key")};
  const auto replace = [&]() -> Result<commerce::WrittenPolicy, Error> {
    auto wish = wish_of(*page, form);
    if (!wish.ok()) return wish.error();
    AutoTopUps* const top_ups = top_ups_of(rooms);
    if (top_ups == nullptr) return not_here();
    return top_ups->replace(*std::move(wish), rooms.people.actor_of(turn, asked.caller));
  };
  const auto written = replace();
  if (written.ok()) return web::go_to(turn, back);
  form.problem = {&written.error(), turn.request_id()};
  const auto html = top_up_html(rooms, *page, form);
  if (!html.ok()) return refuse_on(rooms, turn, *page, written.error(), top_up_page);
  web::send_refusal(turn, written.error(), *html);
}

// ---- methods ------------------------------------------------------------------------------------

void use_save(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = path_of(asked.parameters[0], top_up_page);
  if (!web::stands_for(identity::Standing::signed_in, rooms, turn, asked, back)) return;
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const std::string processor = field_of(asked, "processor");
  const std::string key = "page:" + field_of(asked, "key") + ":" + processor;
  const auto begin = [&]() -> Result<commerce::BegunSetup, Error> {
    AutoTopUps* const top_ups = top_ups_of(rooms);
    if (top_ups == nullptr) return not_here();
    if (!is_idempotency_key(key)) {
      return Error{ErrorCode::request_malformed, "The form is none of this page's: load it anew."};
    }
    return top_ups->begin_setup(page->account_id(), processor, key,
                                rooms.people.actor_of(turn, asked.caller), setup_body);
  };
  const auto begun = begin();
  if (!begun.ok()) return refuse_on(rooms, turn, *page, begun.error(), top_up_page);
  const std::string path = path_of_method(page->account_id(), begun->id);
  web::go_to(turn, begun->is_begun ? path + "/save" : path);
}

struct OneMethod {
  AccountPage page;
  MethodSetup setup;
};

// Nothing: the request was answered.
std::optional<OneMethod> open_method(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return std::nullopt;
  const auto find = [&]() -> Result<MethodSetup, Error> {
    if (AutoTopUps* const top_ups = top_ups_of(rooms)) {
      return top_ups->find_setup(page->account_id(), asked.parameters[1]);
    }
    return not_here();
  };
  auto setup = find();
  if (setup.ok()) return OneMethod{*std::move(page), *std::move(setup)};
  refuse_on(rooms, turn, *page, setup.error(), top_up_page);
  return std::nullopt;
}

bool is_open(const MethodSetup& setup) {
  return setup.standing == SetupStanding::needs_reconciliation ||
         setup.standing == SetupStanding::requires_action;
}

void show_method(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  constexpr std::int64_t hour_ms = 3'600'000;
  constexpr std::string_view pause_seconds = "5";
  const auto one = open_method(rooms, turn, asked);
  if (!one) return;
  const MethodSetup& setup = one->setup;
  const StandingWords words = standing_words(setup);
  const std::string path = path_of_method(setup.account_id, setup.id);
  const bool looks_again =
      is_open(setup) && rooms.pages.clock().now_ms() - setup.created_at_ms < hour_ms;
  const bool waits_for_person = setup.standing == SetupStanding::requires_action;
  const site::Frame frame = frame_of_account(rooms, one->page, "Method of payment", top_up_page);
  const std::string html = rooms.pages.page(frame, "dashboard/method.html", [&](Slots slots) {
    slots.set("LABEL", label_of(setup));
    slots.set("ID", setup.id);
    slots.set("PATH", path);
    slots.set("BACK", path_of(setup.account_id, top_up_page));
    slots.set("PROCESSOR", setup.processor);
    slots.set("CLASS", words.state);
    slots.set("WORD", words.word);
    slots.set("MEANING", meaning_of(setup));
    slots.set("BEGUN", when(setup.created_at_ms));
    if (waits_for_person) slots.set_if("EXPIRES", when(setup.expires_at_ms));
    slots.set_if("SAVE_URL", waits_for_person ? setup.url : std::string());
    slots.show_if(is_open(setup), "IS_OPEN");
    const bool can_be_removed = setup.standing == SetupStanding::succeeded &&
                                setup.removal == commerce::Removal::none;
    slots.show_if(can_be_removed && one->page.membership.role >= Role::admin, "CAN_REMOVE");
    if (looks_again) slots.set_if("PAUSE_SECONDS", std::string(pause_seconds));
  });
  ReplyFields more;
  const std::string next_look = std::string(pause_seconds) + ";url=" + path;
  if (looks_again) more.add("Refresh", next_look);
  turn.reply({.content_type = page_type, .body = html}, more);
}

void use_remove(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string path = path_of_method(asked.parameters[0], asked.parameters[1]);
  if (!web::stands_for(identity::Standing::signed_in, rooms, turn, asked, path)) return;
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto remove = [&]() -> Result<MethodSetup, Error> {
    AutoTopUps* const top_ups = top_ups_of(rooms);
    if (top_ups == nullptr) return not_here();
    return top_ups->remove(page->account_id(), asked.parameters[1],
                           rooms.people.actor_of(turn, asked.caller));
  };
  const auto removed = remove();
  if (!removed.ok()) return refuse_on(rooms, turn, *page, removed.error(), top_up_page);
  web::go_to(turn, path);
}

// Leads from the form to the payment service's page through a page of ours: browsers apply a page's
// form-action policy to redirects of its forms (web::HandoverView).
void show_way_to_save(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto one = open_method(rooms, turn, asked);
  if (!one) return;
  const MethodSetup& setup = one->setup;
  if (setup.standing != SetupStanding::requires_action || setup.url.empty()) {
    return web::go_to(turn, path_of_method(setup.account_id, setup.id));
  }
  site::Frame frame = frame_of_account(rooms, one->page, "On to the payment service", top_up_page);
  frame.next_url = setup.url;
  send_account_page(rooms, turn, frame, "dashboard/save_method.html",
                    [&](Slots slots) { slots.set("URL", setup.url); });
}

// ---- the table

#define TOP_UP "/dashboard/{billing_account_id}/auto-top-up"

constexpr Route<WebRooms> auto_top_up_rows[] = {
    {.facts = web::page(TOP_UP, "dashboard_auto_top_up"), .answer = show_top_up},
    {.facts = web::form(TOP_UP, "auto_top_up", form_of_admins), .answer = use_policy},
    {.facts = web::form(TOP_UP "/methods", "payment_method_setups", form_of_admins),
     .answer = use_save},
    {.facts = web::page(TOP_UP "/methods/{setup_id}", "dashboard_payment_method"),
     .answer = show_method},
    {.facts = web::form(TOP_UP "/methods/{setup_id}/remove", "payment_method_setup",
                        form_of_admins),
     .answer = use_remove},
    {.facts = web::page(TOP_UP "/methods/{setup_id}/save", "dashboard_payment_method"),
     .answer = show_way_to_save},
};
#undef TOP_UP

}  // namespace

std::span<const Route<WebRooms>> auto_top_up_routes() noexcept { return auto_top_up_rows; }

std::string top_up_alert(const WebRooms& rooms, const AccountPage& page) {
  AutoTopUps* const top_ups = top_ups_of(rooms);
  if (top_ups == nullptr) return {};
  const auto seen = top_ups->look(page.account_id());
  if (!seen.ok() || !commerce::is_paused(seen->standing.state)) return {};
  return commerce::pause_text(seen->standing);
}

}  // namespace turnpike::hosts::dashboard
