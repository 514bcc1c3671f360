#include "sessions/sealing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/private_file.h"
#include "sessions/certificates.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace sessions;

TEST(Sealing, OpensForWhatItWasSealedFor) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/key";
  const base::SealingKey key = sealing_key_in(path).value();
  EXPECT_EQ(sealing_key_in(path).value(), key);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);

  const std::string sealed = seal_in_digits(key, "text", "for a").value();
  EXPECT_EQ(sealed.find("text"), std::string::npos);
  EXPECT_NE(seal_in_digits(key, "text", "for a").value(), sealed);
  EXPECT_EQ(unseal_digits(key, sealed, "for a").value(), "text");
  EXPECT_FALSE(unseal_digits(key, sealed, "for b").ok());
  EXPECT_FALSE(unseal_digits(base::SealingKey{}, sealed, "for a").ok());
  for (const std::string& wrong : {std::string(), std::string("no digits"), sealed + "00",
                                   sealed.substr(0, sealed.size() - 2)}) {
    EXPECT_FALSE(unseal_digits(key, wrong, "for a").ok()) << wrong;
  }
  EXPECT_EQ(unseal_digits(key, seal_in_digits(key, "", "x").value(), "x").value(), "");
}

TEST(Certificates, TheAuthorityIsMadeOnceAndOnlyWhereItIsNeeded) {
  const TemporaryDirectory directory;
  const std::string roots = directory.path() + "/roots.pem";
  ASSERT_TRUE(base::keep_public_file(roots, "roots\n").ok());
  const auto passing = certificates_for(directory.path(), roots, false).value();
  EXPECT_EQ(passing.bundle, roots);
  EXPECT_EQ(passing.authority, "");
  const auto looking = certificates_for(directory.path(), roots, true).value();
  const std::string authority = base::content_of_file(looking.authority).value();
  const std::string bundle = base::content_of_file(looking.bundle).value();
  EXPECT_NE(authority.find("PRIVATE KEY"), std::string::npos);
  EXPECT_EQ(bundle.find("PRIVATE KEY"), std::string::npos);
  EXPECT_EQ(bundle.find("roots\n"), 0U);
  ASSERT_TRUE(base::keep_public_file(roots, "others\n").ok());
  (void)certificates_for(directory.path(), roots, true).value();
  EXPECT_EQ(base::content_of_file(looking.authority).value(), authority);
  EXPECT_EQ(base::content_of_file(looking.bundle).value().find("others\n"), 0U);
  EXPECT_FALSE(certificates_for(directory.path(), "", true).ok());
}

TEST(Certificates, WhatTheHostHasAlreadyIsNotAddedToItsRoots) {
  const TemporaryDirectory directory;
  const std::string begins = "-----BEGIN CERTIFICATE-----\n";
  const std::string known = begins + "a\n";
  const std::string roots = directory.path() + "/host.pem";
  ASSERT_TRUE(base::keep_public_file(roots, known).ok());
  EXPECT_EQ(roots_with(directory.path(), roots, "").value(), roots);
  EXPECT_EQ(roots_with(directory.path(), roots, known).value(), roots);
  const auto all = roots_with(directory.path(), roots, known + begins + "b\n").value();
  EXPECT_EQ(base::content_of_file(all).value(), known + "\n" + begins + "b\n");
  EXPECT_EQ(base::content_of_file(roots_with(directory.path(), "", known).value()).value(),
            "\n" + known);
}

}  // namespace
