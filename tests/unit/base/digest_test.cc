// Digests against the examples that their standards give.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

#include "base/digest.h"
#include "base/fd.h"
#include "base/text.h"

namespace {

using namespace base;

constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Digest, Sha256IsThatOfTheStandard) {
  EXPECT_EQ(sha256_hex("abc").value(), kOfAbc);
  EXPECT_EQ(in_hex(sha256("abc").value()), kOfAbc);
  EXPECT_EQ(sha256_hex("").value(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, PiecesAreOneText) {
  Sha256 hash;
  hash.add("a");
  hash.add("");
  hash.add("bc");
  EXPECT_EQ(in_hex(hash.finish().value()), kOfAbc);
}

// RFC 4231, test cases 2 and 6.
TEST(Digest, HmacIsThatOfTheStandard) {
  EXPECT_EQ(in_hex(hmac_sha256("Jefe", "what do ya want for nothing?").value()),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(in_hex(hmac_sha256(std::string(131, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First")
                       .value()),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Digest, AFileIsReadAsFarAsAsked) {
  const auto file = make_memory_file("digest", "abcd").value();
  EXPECT_EQ(sha256_hex_of_file(file.get(), 3).value(), kOfAbc);
  EXPECT_EQ(sha256_hex_of_file(file.get(), 5).value(), std::nullopt);
  EXPECT_FALSE(sha256_hex_of_file(-1, 1).ok());
}

}  // namespace
