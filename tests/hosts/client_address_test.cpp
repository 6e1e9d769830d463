#include "hosts/client_address.h"

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

ClientAddress behind(std::initializer_list<const char*> proxies) {
  std::vector<AddressRange> ranges;
  for (const char* text : proxies) ranges.push_back(AddressRange::read(text).value());
  return ClientAddress(std::move(ranges));
}

std::string from(const ClientAddress& clients, std::string_view peer,
                 std::initializer_list<std::string_view> forwarded) {
  std::vector<HeaderField> fields;
  for (const std::string_view value : forwarded) fields.push_back({"x-forwarded-for", value});
  return clients.of(peer, fields);
}

TEST(ClientAddressTest, PortsAndBracketsOfThePeerAreLeftOut) {
  const ClientAddress clients = behind({"127.0.0.1", "::1"});
  EXPECT_EQ(from(clients, "127.0.0.1:5050", {"203.0.113.9"}), "203.0.113.9");
  EXPECT_EQ(from(clients, "[::1]:5050", {"2001:db8::9"}), "2001:db8::9");
  EXPECT_EQ(from(clients, "[2001:db8::1]:5050", {"203.0.113.9"}), "2001:db8::1");
}

TEST(ClientAddressTest, BehindAProxyIsNobodyWhoIsNotSentByOne) {
  const HeaderField told[] = {{"X-Forwarded-For", "203.0.113.9"}};
  EXPECT_EQ(behind({"127.0.0.1"}).behind_proxy("127.0.0.1:5050", told), "203.0.113.9");
  EXPECT_EQ(behind({"127.0.0.1"}).behind_proxy("192.0.2.1:5050", told), "");
  EXPECT_EQ(behind({}).behind_proxy("127.0.0.1:5050", told), "");
}

TEST(AddressRangeTest, HasTheAddressesOfItsPrefix) {
  const struct {
    const char* range;
    const char* address;
    bool is_in;
  } cases[] = {{"10.0.0.0/8", "10.255.0.1", true},
               {"10.0.0.0/8", "11.0.0.0", false},
               {"10.0.0.0/9", "10.127.255.255", true},
               {"10.0.0.0/9", "10.128.0.0", false},
               {"192.0.2.7", "192.0.2.7", true},
               {"192.0.2.7", "192.0.2.6", false},
               {"192.0.2.7/32", "::ffff:192.0.2.7", true},
               {"0.0.0.0/0", "203.0.113.9", true},
               {"0.0.0.0/0", "2001:db8::1", false},
               {"2001:db8::/32", "2001:db8:ffff::1", true},
               {"2001:db8::/33", "2001:db8:8000::", false},
               {"::/0", "192.0.2.1", true},
               {"10.0.0.0/8", "10.0.0.1:80", false},
               {"10.0.0.0/8", "", false}};
  for (const auto& [range, address, is_in] : cases) {
    EXPECT_EQ(AddressRange::read(range).value().has(address), is_in) << range << " " << address;
  }
}

TEST(AddressRangeTest, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "10", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.1/8", "10.0.0.0/8 ",
        "2001:db8::/129", "2001:db8::1/64", "example.com", "10.0.0.0/8/8", "1:2:3:4:5:6:7:8:9"}) {
    EXPECT_FALSE(AddressRange::read(text)) << text;
  }
}

TEST(ClientAddressTest, APeerThatIsNoProxyIsTheClientWhateverItSays) {
  EXPECT_EQ(from(behind({}), "192.0.2.1", {"203.0.113.9"}), "192.0.2.1");
  EXPECT_EQ(from(behind({"10.0.0.0/8"}), "192.0.2.1", {"10.0.0.1, 203.0.113.9"}), "192.0.2.1");
}

TEST(ClientAddressTest, TheLastAddressThatIsNoProxysIsTheClient) {
  const ClientAddress clients = behind({"10.0.0.0/8", "2001:db8::/32"});
  EXPECT_EQ(from(clients, "10.0.0.1", {"203.0.113.9"}), "203.0.113.9");
  EXPECT_EQ(from(clients, "10.0.0.1", {"1.1.1.1, 203.0.113.9 ,\t10.0.0.2"}), "203.0.113.9");
  EXPECT_EQ(from(clients, "10.0.0.1", {"1.1.1.1", "203.0.113.9", "10.0.0.2"}), "203.0.113.9");
  EXPECT_EQ(from(clients, "10.0.0.1", {"203.0.113.9:4711"}), "203.0.113.9");
  EXPECT_EQ(from(clients, "2001:db8::1", {"[2001:470::1]:4711"}), "2001:470::1");
  EXPECT_EQ(from(clients, "10.0.0.1", {"10.0.0.3, 10.0.0.2"}), "10.0.0.3");
}

TEST(ClientAddressTest, WhatIsNoAddressEndsTheList) {
  const ClientAddress clients = behind({"10.0.0.0/8"});
  EXPECT_EQ(from(clients, "10.0.0.1", {}), "10.0.0.1");
  for (const char* value : {"", "unknown", "_hidden", "203.0.113.9, ", "203.0.113.0/24",
                            "[2001:db8::1", "203.0.113.9 x"}) {
    EXPECT_EQ(from(clients, "10.0.0.1", {value}), "10.0.0.1") << value;
  }
  EXPECT_EQ(from(clients, "10.0.0.1", {"203.0.113.9, unknown, 10.0.0.2"}), "10.0.0.2");
}

}  // namespace
}  // namespace turnpike::hosts
