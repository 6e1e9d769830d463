// The x402 lane in all orders of events (lane_world.h): what can happen to each of its effects and
// between any two of them. A script says who calls, a plan says what happens, and the world finds
// violations.
//
// TURNPIKE_MODEL_DEPTH is the largest number of events in a history. All histories with one event
// are played. Of those with more, one in TURNPIKE_MODEL_SHARE is played, always the same ones; 1
// means all, as in `./dev soak`. TURNPIKE_PROPERTY_CASES is the number of longer random histories.
// Their seed is printed; it comes from RC_PARAMS="seed=...", which ctest sets except in `./dev
// soak`.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "lane_world.h"

namespace turnpike::x402 {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int events_default = 1;
constexpr int cases_default = 200;
#else
constexpr int events_default = 2;
constexpr int cases_default = 4'000;
#endif
constexpr int share_default = 17;  // prime, so that every kind of event is included

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::size_t share() {
  const int wanted = number_of("TURNPIKE_MODEL_SHARE", share_default);
  return wanted < 1 ? 1 : static_cast<std::size_t>(wanted);
}

std::size_t first(Flow flow) { return flow * payments_of_a_flow; }

struct Script {
  const char* name;
  void (*play)(World& world, Flow flow);
};

// Plays a script; returns the violations that the world found, or "".
std::string play(const Script& script, Flow flow, World& world) {
  script.play(world, flow);
  world.come_to_rest();
  std::string found;
  for (const std::string& fault : world.faults) {
    found.append(script.name).append(", ").append(flow_names[flow]).append(": ");
    found.append(world.history()).append(": ").append(fault).append("\n");
  }
  return found;
}

// Selects the histories to play: all with one event, and one in `share` of those with more.
struct Choice {
  bool (*allows)(Event) = [](Event) { return true; };
  std::size_t share = 1;
  std::size_t seen = 0;

  bool takes(const Plan& plan) { return plan.size() < 2 || seen++ % share == 0; }
};

// Plays the histories of a script that extend `plan` by at most `events_left` later events and that
// `choice` selects. Returns their number.
std::size_t play_all(const Script& script, Flow flow, const Plan& plan, int events_left,
                     Choice& choice) {
  World world(plan);
  if (const std::string found = play(script, flow, world); !found.empty()) {
    ADD_FAILURE() << found;
    return 1;
  }
  std::size_t played = 1;
  const auto& points = world.points();
  const std::size_t from = plan.empty() ? 0 : plan.rbegin()->first + 1;
  for (std::size_t at = from; at < points.size() && events_left > 0; ++at) {
    for (std::size_t event = 1; event < points[at].size(); ++event) {
      if (!choice.allows(points[at][event])) continue;
      Plan longer = plan;
      longer[at] = event;
      if (!choice.takes(longer)) continue;
      played += play_all(script, flow, longer, events_left - 1, choice);
      if (::testing::Test::HasFailure()) return played;
    }
  }
  return played;
}

void come_again(World& world, Flow flow) {
  using enum Event;
  const Event when = world.choose({nothing, at_other_node, lease_ends, validity_ends});
  if (when != at_other_node) world.revive();
  world.call(when == at_other_node ? 1 : 0, first(flow));
  world.go();
}

constexpr Script scripts[] = {
    {"one after the other",
     [](World& world, Flow flow) {
       world.call(0, first(flow));
       world.go();
       come_again(world, flow);
       world.revive();
       world.call(0, first(flow), {}, true);
       world.go();
     }},
    {"two at once, at two nodes",
     [](World& world, Flow flow) {
       world.call(0, first(flow));
       world.call(1, first(flow));
       world.go();
       come_again(world, flow);
     }},
    {"two at once, at one node",
     [](World& world, Flow flow) {
       world.call(0, first(flow));
       world.call(0, first(flow));
       world.go();
       come_again(world, flow);
     }},
    {"again while the lane does its own work",
     [](World& world, Flow flow) {
       world.call(0, first(flow));
       world.go();
       world.revive();
       (void)world.choose({Event::nothing, Event::lease_ends, Event::validity_ends});
       world.reconcile(1);
       world.call(0, first(flow));
       world.go();
     }},
    {"two payments under one key",
     [](World& world, Flow flow) {
       for (const std::size_t payment : {first(flow), first(flow), first(flow) + 1}) {
         world.revive();
         world.call(0, payment, "key");
         world.go();
       }
     }},
    {"two payments under one key at once",
     [](World& world, Flow flow) {
       world.call(0, first(flow), "key");
       world.call(1, first(flow) + 1, "key");
       world.go();
     }},
};

TEST(LaneModel, APaymentInPeaceIsAnsweredOnce) {
  for (const Flow flow : all_flows) {
    World world({});
    world.call(0, first(flow));
    world.go();
    world.call(1, first(flow));
    world.go();
    const std::string again = is_bound(flow) ? "200" : "idempotency.reply_not_stored";
    EXPECT_EQ(world.told, (std::vector<std::string>{"200", again}));
    world.come_to_rest();
    EXPECT_EQ(world.faults, std::vector<std::string>());
  }
}

class EveryHistory : public ::testing::TestWithParam<std::tuple<Script, Flow>> {};
INSTANTIATE_TEST_SUITE_P(Of, EveryHistory,
                         ::testing::Combine(::testing::ValuesIn(scripts),
                                            ::testing::ValuesIn(all_flows)));

TEST_P(EveryHistory, ChargesOnceDeliversWhatIsPaidAndTellsTheTruth) {
  const auto& [script, flow] = GetParam();
  const int events = number_of("TURNPIKE_MODEL_DEPTH", events_default);
  Choice choice;
  choice.share = share();
  choice.seen = flow;  // so that flows play different pairs
  const std::size_t played = play_all(script, flow, {}, events, choice);
  std::printf("%s, %s: %zu histories of up to %d events\n", script.name, flow_names[flow].data(),
              played, events);
}

// Nothing exceeds its time limit, so no call may take over the work of another.
TEST(LaneModel, SlowPartsWithinTheirTimeKeepTheLease) {
  Choice slow;
  slow.allows = [](Event event) {
    return event == Event::hangs || event == Event::answers_late || event == Event::takes_long ||
           event == Event::other_goes_on;
  };
  const int events = share() == 1 ? 4 : events_default + 1;
  for (const Flow flow : all_flows) play_all(scripts[1], flow, {}, events, slow);
}

// A plan's numbers are taken modulo the number of possible events, so any map is a valid plan.
TEST(LaneModel, HoldsInLongHistoriesToo) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSize = 12;  // most events in a history
  params.maxSuccess = number_of("TURNPIKE_PROPERTY_CASES", cases_default);
  const rc::detail::TestMetadata metadata{.id = "lane", .description = "the lane keeps its word"};
  std::printf("%d histories, seed %llu\n", params.maxSuccess,
              static_cast<unsigned long long>(params.seed));
  const auto result = rc::detail::checkTestable(
      [] {
        const Flow flow = all_flows[*rc::gen::inRange<std::size_t>(0, std::size(all_flows))];
        const auto script = *rc::gen::inRange<std::size_t>(0, std::size(scripts));
        World world(*rc::gen::container<Plan>(rc::gen::inRange<std::size_t>(0, 70),
                                              rc::gen::inRange<std::size_t>(1, 17)));
        if (const std::string found = play(scripts[script], flow, world); !found.empty()) {
          RC_FAIL(found);
        }
      },
      metadata, params);
  if (!result.is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    FAIL() << text.str() << "\nseed " << params.seed;
  }
}

}  // namespace
}  // namespace turnpike::x402
