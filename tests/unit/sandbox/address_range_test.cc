#include "sandbox/address_range.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sandbox {
namespace {

AddressRange range(const char* text) { return parse_address_range(text).value(); }
bool has(const char* of, const char* address) { return contains(range(of), range(address).first); }

TEST(AddressRange, IsWrittenInOneWay) {
  EXPECT_EQ(text_of(range("10.1.2.3/8")), "10.0.0.0/8");
  EXPECT_EQ(text_of(range("192.0.2.7")), "192.0.2.7/32");
  EXPECT_EQ(text_of(range("0.0.0.0/0")), "0.0.0.0/0");
  EXPECT_EQ(text_of(range("2001:DB8::1/33")), "2001:db8::/33");
  EXPECT_EQ(text_of(range("::/0")), "::/0");
  EXPECT_EQ(range("::ffff:10.0.0.0/104"), range("10.0.0.0/8"));
}

TEST(AddressRange, ContainsWhatItCovers) {
  EXPECT_TRUE(has("10.0.0.0/8", "10.255.255.255"));
  EXPECT_FALSE(has("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(has("10.0.0.0/9", "10.127.255.255"));
  EXPECT_FALSE(has("10.0.0.0/9", "10.128.0.0"));
  EXPECT_TRUE(has("0.0.0.0/0", "203.0.113.9"));
  EXPECT_FALSE(has("0.0.0.0/0", "2001:db8::1"));
  EXPECT_FALSE(has("::/0", "203.0.113.9"));
  EXPECT_TRUE(has("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(has("2001:db8::/33", "2001:db8:8000::1"));
}

TEST(AddressRange, RefusesWhatIsNone) {
  for (const char* text : {"", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x",
                           "::/129", "example.com", "010.0.0.1", "0x7f.1", "1.2.3.4/8/9"}) {
    EXPECT_FALSE(parse_address_range(text).ok()) << text;
  }
  EXPECT_FALSE(ranges_from_json({1}).ok());
  EXPECT_FALSE(ranges_from_json("10.0.0.0/8").ok());
  EXPECT_TRUE(ranges_from_json(nullptr).value().empty());
  EXPECT_EQ(ranges_to_json(ranges_from_json({"10.0.0.1"}).value()),
            nlohmann::json::array({"10.0.0.1/32"}));
}

}  // namespace
}  // namespace sandbox
