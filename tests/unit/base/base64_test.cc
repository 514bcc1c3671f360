// Base64, padded and as tokens have it.
#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"

namespace {

using base::from_base64;
using base::from_base64_lines;
using base::from_base64url;
using base::to_base64;

TEST(Base64, WhatIsEncodedIsDecoded) {
  EXPECT_EQ(to_base64("hello"), "aGVsbG8=");
  for (const std::string& bytes : {std::string(), std::string("f"), std::string("fo"),
                                   std::string("foo"), std::string("\xfb\xff\0z", 4)}) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
}

TEST(Base64, NothingElseIs) {
  for (const char* text : {"aGVsbG8", "aGVsbG9=", "aGV=", "a===", "====", "=", "aGV sbG8", "-_-_",
                           "aGVsbG8=aGVs", "aGVs\n", " aGVs", "aGVs===="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

TEST(Base64, LinesAreDecodedAsOne) {
  for (const std::string text : {"", "a", "ab", "abc", "\x10\xff"}) {
    EXPECT_EQ(from_base64_lines(to_base64(text)), text);
  }
  EXPECT_EQ(from_base64_lines("aGVs\nbG8=\n"), "hello");
  for (const char* bad : {"a", "aGVsbG8", "%%%%", "a===", "aGVs!G8="}) {
    EXPECT_EQ(from_base64_lines(bad), std::nullopt) << bad;
  }
}

TEST(Base64Url, WhatAnEncoderMakesIsDecoded) {
  EXPECT_EQ(from_base64url(""), "");
  EXPECT_EQ(from_base64url("Zg"), "f");
  EXPECT_EQ(from_base64url("Zm8"), "fo");
  EXPECT_EQ(from_base64url("Zm9v"), "foo");
  EXPECT_EQ(from_base64url("-_8"), "\xfb\xff");
}

TEST(Base64Url, NothingElseIs) {
  for (const char* text :
       {"Z", "Zg==", "Zg=", "Zh", "Zm9", "Zm9vZ", "+/8", "Z g", "Zg\n", "Zg.", "é"}) {
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
  }
}

}  // namespace
