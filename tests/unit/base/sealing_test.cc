// A sealed text opens for who has its key, and for nothing else.
#include "base/sealing.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using base::seal;
using base::unseal;

TEST(SealingTest, OpensForWhatItWasSealedForAndOnlyUnchanged) {
  const base::SealingKey key{1};
  const std::string sealed = seal(key, "text", "for a").value();
  EXPECT_EQ(sealed.size(), 12U + 4U + 16U);
  EXPECT_EQ(sealed.find("text"), std::string::npos);
  EXPECT_NE(seal(key, "text", "for a").value(), sealed) << "its nonce is random";
  EXPECT_EQ(unseal(key, sealed, "for a").value(), "text");
  EXPECT_FALSE(unseal(key, sealed, "for b").ok());
  EXPECT_FALSE(unseal(base::SealingKey{2}, sealed, "for a").ok());
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] ^= 1;
    EXPECT_FALSE(unseal(key, changed, "for a").ok()) << at;
  }
  for (std::size_t bytes = 0; bytes < sealed.size(); ++bytes) {
    EXPECT_FALSE(unseal(key, sealed.substr(0, bytes), "for a").ok()) << bytes;
  }
  EXPECT_EQ(unseal(key, seal(key, "", "").value(), "").value(), "");
}

}  // namespace
