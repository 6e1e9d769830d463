// Rows of governance_event as the feeds read them, and the order and repeats of signals; shared by
// the two ways in which a feed is read. Private to feed.h's implementation; one Thread per call.
#pragma once

#include <string_view>

#include "govdata/serve/feed.h"

namespace turnpike::govdata {

// "SELECT ...", up to FROM.
std::string_view feed_columns();
FeedRow feed_row(const Statement& row);

int score_min_of(Surface surface);
bool signal_before(const RouteRequest& request, const Signal& left, const Signal& right);
// Of an item and type the surface shows one signal; else one of an item.
bool is_per_type(Surface surface);
// Which of two it shows.
bool stands_for(const RouteRequest& request, const Signal& left, const Signal& right);

}  // namespace turnpike::govdata
