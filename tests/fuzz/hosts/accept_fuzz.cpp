// Arbitrary values of Accept: the result is one of the forms, it is the same for two fields as for
// one, and a client that adds a range for everything is never refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "hosts/accept.h"

using turnpike::fuzz::check;
using namespace turnpike;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HeaderField one[] = {{"Accept", bytes}};
  const hosts::PageForm form = hosts::page_form(one);
  const HeaderField with_others[] = {{"Accept", bytes}, {"Accept", "image/png;q=0"}};
  const hosts::PageForm same = hosts::page_form(with_others);
  check(same == form || form == hosts::PageForm::html);
  const HeaderField named[] = {{"Accept", "text/html, text/markdown"}, {"Accept", bytes}};
  check(hosts::page_form(named) == hosts::PageForm::markdown);
  const HeaderField coding[] = {{"Accept-Encoding", bytes}};
  (void)hosts::takes_brotli(coding);
  return 0;
}
