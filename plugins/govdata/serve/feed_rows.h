// Rows of governance_event as the feeds read them, and the order and repeats of signals. Shared by
// the scan and the walk. Private to the implementation of feed.h; one Thread per call.
#pragma once

#include <string_view>

#include "govdata/serve/feed.h"

namespace turnpike::govdata {

// The SELECT clause for feed_row().
std::string_view feed_columns();
FeedRow feed_row(const Statement& row);

int score_min_of(Surface surface);
bool signal_before(const RouteRequest& request, const Signal& left, const Signal& right);
// True: the surface shows one signal for each item and type. False: one for each item.
bool is_per_type(Surface surface);
// Whether `left` is shown instead of `right`, of two signals of which only one is shown.
bool stands_for(const RouteRequest& request, const Signal& left, const Signal& right);

}  // namespace turnpike::govdata
