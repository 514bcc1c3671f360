// Percent encoding, as addresses have it and as hostile ones do.
#include <gtest/gtest.h>

#include <string>

#include "base/percent_encoding.h"

namespace {

using namespace base;

TEST(PercentEncoding, OnlyUnreservedBytesStay) {
  EXPECT_EQ(percent_encoded("aZ9-._~"), "aZ9-._~");
  EXPECT_EQ(percent_encoded("a b/\xc3\xa4%"), "a%20b%2F%C3%A4%25");
  EXPECT_EQ(percent_encoded("a b/c", "/"), "a%20b/c");
}

TEST(PercentEncoding, BothReadersKnowWhatIsEncoded) {
  for (const std::string& text : {std::string("a b/\xff%"), std::string("\0x", 2)}) {
    EXPECT_EQ(percent_decoded(percent_encoded(text)), text);
    EXPECT_EQ(whole_percent_decoded(percent_encoded(text)), text);
  }
  EXPECT_EQ(whole_percent_decoded("%2f%2F"), "//");
}

TEST(PercentEncoding, OneReaderTakesWhatTheOtherRefuses) {
  for (const std::string text : {"%", "%2", "100%", "%zz", "%-1", "%+1", "a% b"}) {
    EXPECT_EQ(percent_decoded(text), text);
    EXPECT_EQ(whole_percent_decoded(text), std::nullopt) << text;
  }
}

}  // namespace
