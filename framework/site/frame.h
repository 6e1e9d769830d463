// Frame: the common parts of every page: head, header, navigation, and the footer, which names the
// generation and the round of the facts on the page. Values; any Thread.
#pragma once

#include <string>
#include <vector>

namespace turnpike::site {

struct Link {
  std::string label;
  std::string path;
  bool is_here = false;  // the current page, or a parent of it
};

// The source of the facts on a page. Empty texts: there is none.
struct Foot {
  std::string generation;        // "gen_…"
  std::string round;             // "48211"
  std::string head;              // first digits of the head of the round: "sha256:0123456789ab"
  std::string judgement = {};    // of the gateway: "Everything works."
  std::string evidence_url = {}; // URL of the evidence
};

struct Frame {
  std::string title;             // without the name of the site
  std::string description = {};  // for search engines and previews; empty: none, not indexed
  std::string canonical = {};    // URL of the page; empty: none
  std::string markdown = {};     // path of the Markdown form; empty: none
  std::vector<Link> menu = {};   // in the header
  std::vector<Link> side = {};   // beside the page: in the dashboard or the console
  std::string side_title = {};   // name of the account
  std::string sign_in = {};      // sign-in page, if signed out; empty: none
  std::string person_name = {};  // empty: signed out
  std::string person_path = "/account";  // target of the link on the name
  std::string page_token = {};   // of the session
  std::string sign_out = "/sign-out";  // target of the sign-out form
  std::string next_url = {};     // the browser continues here; empty: no refresh
  std::vector<std::string> scripts = {};  // assets that only this page loads: "playground.js"
  Foot foot = {};
};

}  // namespace turnpike::site
