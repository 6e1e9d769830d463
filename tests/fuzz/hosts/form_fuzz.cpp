// Arbitrary forms: an accepted form is UTF-8, within its bound, has each name once, and has the
// same meaning when it is written again.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "hosts/form.h"
#include "text/canonical_json.h"
#include "text/uri.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;

constexpr std::size_t fields_max = 8;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto form = hosts::read_form(bytes, fields_max);
  if (!form.ok()) {
    check(!form.error().fields.empty());
    return 0;
  }
  check(form->size() <= fields_max);
  std::set<std::string_view> names;
  std::string anew;
  for (const auto& [name, value] : *form) {
    check(text::is_utf8(name) && text::is_utf8(value));
    check(names.insert(name).second);
    anew += '&';
    text::append_percent_encoded(anew, name);
    anew += '=';
    text::append_percent_encoded(anew, value);
  }
  const auto again = hosts::read_form(anew, fields_max);
  check(again.ok() && again->size() == form->size());
  for (const auto& [name, value] : *form) check(again->find(name) == value);
  return 0;
}
