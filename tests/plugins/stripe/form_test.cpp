#include "stripe/form.h"

#include <random>

#include "plugins/stripe/world.h"

namespace turnpike::stripe {
namespace {

TEST(Form, IsWhatAFormIs) {
  Form form;
  form.add("line_items[0][price_data][unit_amount]", 1000).add("a b", "1+1=2&\xc3\xa4/%~");
  form.set("on").clear("off").add_if_any("none", "").add_if_any("some", "x").add("empty", "");
  EXPECT_EQ(
      form.text(),
      "line_items%5B0%5D%5Bprice_data%5D%5Bunit_amount%5D=1000&a%20b=1%2B1%3D2%26%C3%A4%2F%25~"
      "&on=true&off=false&some=x&empty=");
}

TEST(Form, IsReadBackAsItWasWritten) {
  std::mt19937 random(20);  // NOLINT: the same in each run
  for (int round = 0; round < 10'000; ++round) {
    Form form;
    Pairs pairs;
    for (std::size_t count = random() % 5; count > 0; --count) {
      const auto text = [&random] {
        std::string bytes;
        for (std::size_t size = random() % 12; size > 0; --size) {
          bytes += static_cast<char>(random() % 256);
        }
        return bytes;
      };
      pairs.emplace_back("n" + text(), text());
      form.add(pairs.back().first, std::string_view(pairs.back().second));
    }
    ASSERT_EQ(decoded(form.text()), pairs);
    for (const char each : form.text()) {
      ASSERT_TRUE(each > ' ' && each <= '~' && each != '[' && each != '+') << form.text();
    }
  }
}

}  // namespace
}  // namespace turnpike::stripe
