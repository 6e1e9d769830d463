// The addresses that an upstream may have: the registries of special-purpose addresses, at each
// edge.
#include "wire/address.h"

#include <gtest/gtest.h>

#include <turnpike/helpers/private_address.h>

namespace turnpike::wire {
namespace {

Reach reach(const char* text) {
  const auto address = parse_address(text, 80);
  EXPECT_TRUE(address) << text;
  return address ? reach_of(*address) : Reach::never;
}

TEST(AddressPolicy, Public) {
  for (const char* text :
       {"1.1.1.1",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255",
        "100.128.0.0",     "126.255.255.255", "128.0.0.0",       "169.253.255.255",
        "169.255.0.0",     "172.15.255.255",  "172.32.0.0",      "192.0.1.0",
        "192.167.255.255", "192.169.0.0",     "198.17.255.255",  "198.20.0.0",
        "223.255.255.255", "2001:200::1",     "2606:4700::1111", "2a00::1",
        "3ffe::1"}) {
    EXPECT_EQ(reach(text), Reach::everywhere) << text;
  }
}

TEST(AddressPolicy, Nearby) {
  for (const char* text : {"10.0.0.0",
                           "10.255.255.255",
                           "100.64.0.0",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "169.254.169.254",
                           "172.16.0.0",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.0.0",
                           "192.168.255.255",
                           "198.18.0.0",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.1",
                           "::1",
                           "fe80::1",
                           "fc00::1",
                           "fdff::1",
                           "::ffff:127.0.0.1",
                           "::ffff:8.8.8.8",
                           "64:ff9b::808:808",
                           "2001::1",
                           "2001:1ff::1",
                           "2001:db8::1",
                           "2002:7f00:1::",
                           "3fff::1",
                           "4000::1",
                           "100::1"}) {
    EXPECT_EQ(reach(text), Reach::nearby) << text;
  }
}

TEST(AddressPolicy, Never) {
  for (const char* text :
       {"0.0.0.0", "0.255.255.255", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255",
        "::", "ff02::1", "::ffff:0.0.0.0", "::ffff:224.0.0.1"}) {
    EXPECT_EQ(reach(text), Reach::never) << text;
  }
}

TEST(UpstreamUrl, IsTakenApart) {
  const auto url = parse_upstream_url("HTTPS://example.com:8443/a?b");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->is_tls);
  EXPECT_EQ(url->authority, "example.com:8443");
  EXPECT_EQ(url->host, "example.com");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/a?b");
  const auto bare = parse_upstream_url("http://[2001:db8::1]");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->host, "2001:db8::1");
  EXPECT_EQ(bare->port, 80);
  EXPECT_EQ(bare->target, "/");
}

// The helper with which plugins warn about settings must not be stricter than calls are.
TEST(AddressPolicy, WhatPluginsTakeForPrivateIsRefused) {
  for (const char* address : {"127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1",
                              "172.31.255.255", "169.254.169.254", "100.64.0.1", "0.1.2.3",
                              "8.8.8.8", "172.32.0.1", "100.128.0.1", "11.0.0.1", "192.169.0.1"}) {
    if (!names_private_address("http://" + std::string(address))) continue;
    EXPECT_NE(reach_of(*parse_address(address, 80)), Reach::everywhere) << address;
  }
  EXPECT_FALSE(names_private_address("http://8.8.8.8"));
}

}  // namespace
}  // namespace turnpike::wire
