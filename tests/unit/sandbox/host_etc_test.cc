// Boxes have entries of /etc, and none of the secrets that an administrator has written there.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "sandbox/box/host_etc.h"
#include "sandbox/wire/plan_format.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace sandbox;
namespace fs = std::filesystem;

class HostEtcTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    fs::create_directories(fs::path(etc_.path() + "/" + name).parent_path());
    etc_.write(name, content);
  }

  void look() {
    box::PlanWriter plan;
    box::add_host_etc(plan, etc_.path());
    bytes_ = plan.take();
    wire::PlanReader reader(bytes_.data(), bytes_.size());
    for (wire::PlanRecord record; reader.next(record);) {
      const std::string first = record.fields[0];
      if (record.op == wire::PlanOp::kDirectory) {
        EXPECT_TRUE(directories_.insert(first).second);
      }
      if (record.op == wire::PlanOp::kFile) files_[first] = record.fields[1];
      if (record.op == wire::PlanOp::kBind) {
        EXPECT_TRUE(directories_.contains(fs::path(record.fields[1]).parent_path()));
        EXPECT_FALSE(fs::is_directory(first) && holds_a_secret(first)) << first;
        binds_.insert(record.fields[1]);
      }
    }
    EXPECT_TRUE(reader.ok());
  }

  bool holds_a_secret(const std::string& directory) const {
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().string().substr(etc_.path().size() + 1);
      if (etc_.read(name).find("s3cret") != std::string::npos) return true;
    }
    return false;
  }

  TemporaryDirectory etc_;
  std::string bytes_;
  std::set<std::string> directories_;
  std::set<std::string> binds_;
  std::map<std::string, std::string> files_;
};

TEST_F(HostEtcTest, SecretsOfLanguagesStayOutside) {
  for (const char* name :
       {"R/Renviron.site", "R/Rprofile.site", "R/repositories", "R/other", "perl/CPAN/Config.pm",
        "php/8.2/fpm/pool.d/www.conf", "php/8.2/fpm/php.ini", "php/8.2/mods-available/newrelic.ini",
        "shadow", "hutch/config.toml"}) {
    write(name, "password = s3cret\n");
  }
  for (const char* name : {"R/Makeconf", "R/Renviron", "R/ldpaths", "perl/Net/libnet.cfg"}) {
    write(name, "as it is\n");
  }
  write("php/8.2/cli/php.ini", "[PHP]\nmemory_limit = -1\nmysqli.default_pw = s3cret\n;a\n");
  write("php/8.2/cli/conf.d/20-newrelic.ini",
        "extension=newrelic.so\nnewrelic.license=\"s3cret\"\n");
  look();
  EXPECT_EQ(binds_, (std::set<std::string>{"/etc/R/Makeconf", "/etc/R/Renviron", "/etc/R/ldpaths",
                                           "/etc/perl/Net/libnet.cfg"}));
  EXPECT_EQ(files_["/etc/php/8.2/cli/php.ini"], "memory_limit = -1\n");
  EXPECT_EQ(files_["/etc/php/8.2/cli/conf.d/20-newrelic.ini"], "extension=newrelic.so\n");
  EXPECT_NE(files_["/etc/R/Rprofile.site"].find("cloud.r-project.org"), std::string::npos);
  EXPECT_EQ(files_.size(), 3U);
  EXPECT_EQ(bytes_.find("s3cret"), std::string::npos);
}

TEST_F(HostEtcTest, WhatIsNotThereIsNotMade) {
  write("services", "http 80/tcp\n");
  look();
  EXPECT_EQ(binds_, std::set<std::string>{"/etc/services"});
  EXPECT_EQ(directories_, (std::set<std::string>{"/etc", "/etc/ssl"}));
  EXPECT_TRUE(files_.empty());
}

TEST_F(HostEtcTest, OfPhpOnlySettingsThatNameNobody) {
  EXPECT_EQ(box::harmless_settings("; priority=20\nextension=curl.so\n\nzend_extension = opcache\n"
                                   "session.save_path = \"tcp://redis?auth=s3cret\"\n"
                                   "extension_of_mine = s3cret\ndisplay_errors=Off\n"),
            "extension=curl.so\nzend_extension = opcache\ndisplay_errors=Off\n");
}

}  // namespace
