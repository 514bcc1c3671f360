// Whom programs of a session trust: the host's roots as they are, and with an authority of this
// state directory's own where its connections are looked into.
#include "sessions/certificates.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/support/temporary_directory.h"

namespace sessions {
namespace {

class CertificatesTest : public ::testing::Test {
 protected:
  using Kind = base::Error::Kind;

  static std::string certificate(const std::string& words) {
    return "-----BEGIN CERTIFICATE-----\n" + words + "\n-----END CERTIFICATE-----\n";
  }
  [[nodiscard]] std::string roots() const {
    directory_.write("host.pem", certificate("host"));
    return directory_.path() + "/host.pem";
  }

  const TemporaryDirectory directory_;
};

TEST_F(CertificatesTest, WhereNothingIsLookedIntoTheHostsRootsAreAll) {
  const auto found = certificates_for(directory_.path(), roots(), false).value();
  EXPECT_EQ(found.roots, roots());
  EXPECT_EQ(found.bundle, roots());
  EXPECT_TRUE(found.authority.empty());
}

TEST_F(CertificatesTest, TheAuthorityIsMadeOnceAndItsKeyStaysPrivate) {
  const auto first = certificates_for(directory_.path(), roots(), true).value();
  const std::string authority = directory_.read("authority.pem");
  EXPECT_NE(authority.find("PRIVATE KEY"), std::string::npos);
  struct stat status {};
  ASSERT_EQ(::stat(first.authority.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const std::string bundle = directory_.read("certificates.pem");
  EXPECT_EQ(bundle.find("PRIVATE KEY"), std::string::npos);
  EXPECT_TRUE(bundle.starts_with(certificate("host")));
  EXPECT_NE(bundle.find("-----BEGIN CERTIFICATE-----", 10), std::string::npos);
  EXPECT_TRUE(certificates_for(directory_.path(), roots(), true).ok());
  EXPECT_EQ(directory_.read("authority.pem"), authority);
}

TEST_F(CertificatesTest, NothingIsLookedIntoThatCouldNotBeVerified) {
  const auto found = certificates_for(directory_.path(), "", true);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, Kind::kUnsupported);
}

TEST_F(CertificatesTest, AnAuthorityWithoutACertificateIsNamed) {
  directory_.write("authority.pem", "damaged");
  ASSERT_EQ(::chmod((directory_.path() + "/authority.pem").c_str(), 0600), 0);
  const auto found = certificates_for(directory_.path(), roots(), true);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("authority.pem"), std::string::npos);
}

TEST_F(CertificatesTest, FurtherRootsAreAddedWhereTheyAreNotThereYet) {
  const std::string host = roots();
  EXPECT_EQ(roots_with(directory_.path(), host, "").value(), host);
  EXPECT_EQ(roots_with(directory_.path(), host, certificate("host")).value(), host);
  const auto both = roots_with(directory_.path(), host, certificate("host") + certificate("own"));
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both.value(), directory_.path() + "/roots.pem");
  EXPECT_EQ(directory_.read("roots.pem"), certificate("host") + "\n" + certificate("own"));
  EXPECT_TRUE(roots_with(directory_.path(), "", certificate("own")).ok()) << "there are no others";
}

}  // namespace
}  // namespace sessions
