// Frame: what stands around every page: head, signs at the top, the way through the pages, and the
// foot, which says of which generation and round the facts on the page are. Values; any Thread.
#pragma once

#include <string>
#include <vector>

namespace turnpike::site {

struct Link {
  std::string label;
  std::string path;
  bool is_here = false;  // the page that is shown, or one above it
};

// Where the facts of a page come from. Empty texts: there are none.
struct Foot {
  std::string generation;        // "gen_…"
  std::string round;             // "48211"
  std::string head;              // of the round, its beginning: "sha256:0123456789ab"
  std::string judgement = {};    // of the gateway: "Everything works."
  std::string evidence_url = {}; // where the reader checks that
};

struct Frame {
  std::string title;             // of the page alone
  std::string description = {};  // for search engines and previews; empty: none, and no indexing
  std::string canonical = {};    // URL of the page; empty: it has none
  std::string markdown = {};     // path of its twin; empty: it has none
  std::vector<Link> menu = {};   // at the top
  std::vector<Link> side = {};   // beside the page: of the dashboard or the console
  std::string side_title = {};   // whose: the account's name
  std::string sign_in = {};      // where nobody is: the page that lets people in; empty: none
  std::string person_name = {};  // empty: nobody is signed in
  std::string person_path = "/account";  // where their name leads
  std::string page_token = {};   // of their session
  std::string sign_out = "/sign-out";  // where the form of that leads
  std::string next_url = {};     // where the browser goes on to by itself; empty: nowhere
  std::vector<std::string> scripts = {};  // assets that only this page loads: "playground.js"
  Foot foot = {};
};

}  // namespace turnpike::site
