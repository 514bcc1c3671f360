// Tests what may be granted of the host, decided on directories that look like one.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "sandbox/host_folder.h"
#include "sandbox/host_places.h"
#include "tests/support/restricted_thread.h"

namespace {

namespace fs = std::filesystem;

using namespace sandbox;

TEST(HostFolder, IsReadFromItsFlag) {
  const HostFolder plain = parse_folder("/srv/project").value();
  EXPECT_EQ(plain.name, "project");
  EXPECT_EQ(plain.path, "/srv/project");
  EXPECT_FALSE(plain.writable);
  EXPECT_TRUE(parse_folder("/srv/project:rw").value().writable);
  EXPECT_FALSE(parse_folder("/srv/project:ro").value().writable);
  EXPECT_EQ(parse_folder("/srv/project//").value().name, "project");
  const HostFolder named = parse_folder("mine=/srv/a b:rw").value();
  EXPECT_EQ(named.name, "mine");
  EXPECT_EQ(named.path, "/srv/a b");
  EXPECT_TRUE(named.writable);
  EXPECT_EQ(parse_folder("/srv/a=b/project").value().path, "/srv/a=b/project");
  EXPECT_EQ(parse_folder("/srv/a:b").error().kind, base::Error::Kind::kInvalid) << "its name";
  for (const char* bad : {"", ":rw", "=", "x=", "=/srv", "a b=/srv", "/srv/a b", "/", "..",
                          "/srv/.x", "data=/srv", "/srv/data", "../..", "a/../.."}) {
    EXPECT_FALSE(parse_folder(bad).ok()) << bad;
  }
  EXPECT_NE(parse_folder("/srv/data").error().message.find("/mnt/data is /workspace"),
            std::string::npos);
}

TEST(HostFolder, TravelsAsJson) {
  HostFolder folder = parse_folder("/srv/project:rw").value();
  folder.blocked = {"a/b"};
  folder.device = 7;
  folder.inode = 1ULL << 63;
  const auto back = folders_from_json(folders_to_json({folder})).value();
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].path, folder.path);
  EXPECT_EQ(back[0].inode, folder.inode);
  EXPECT_EQ(back[0].blocked, folder.blocked);
  EXPECT_TRUE(back[0].writable);
  EXPECT_TRUE(folders_from_json(nullptr).value().empty());
  for (const char* bad : {R"({})", R"([1])", R"([{"name":"../x","path":"/","device":1,"inode":1}])",
                          R"([{"name":"x","path":"y","device":1,"inode":1}])",
                          R"([{"name":"x","path":"/y","device":-1,"inode":1}])",
                          R"([{"name":"x","path":"/y","device":1,"inode":1,"blocked":[1]}])"}) {
    EXPECT_FALSE(folders_from_json(nlohmann::json::parse(bad)).ok()) << bad;
  }
}

class HostPlacesTest : public ::testing::Test {
 protected:
  HostPlacesTest() : top_(::testing::TempDir() + "hutch_places_XXXXXX") {
    if (::mkdtemp(top_.data()) == nullptr) std::abort();
    top_ = fs::canonical(top_);
    for (const char* path : {"home/me/project/sub", "home/me/.mozilla/p", "home/me/.local/bin",
                             "home/you/.ssh", "srv", "state/sessions"}) {
      fs::create_directories(top_ + "/" + path);
    }
    places_.never = {top_ + "/state"};
    add_home(places_, top_ + "/home/me");
    const std::string passwd = top_ + "/passwd";
    std::ofstream(passwd) << "you:x:1:1:You:" << top_ << "/home/you:/bin/sh\n"
                          << "daemon:x:2:2:::\nbroken\n";
    add_other_homes(places_, passwd);
  }
  ~HostPlacesTest() override { fs::remove_all(top_); }

  // Empty when it is granted.
  std::string refusal(const std::string& path, bool writable = false) {
    HostFolder folder{"x", path.starts_with('/') ? path : top_ + "/" + path, writable, {}, 0, 0};
    const auto checked = check_folder(folder, places_, top_);
    return checked.ok() ? "" : checked.error().message;
  }
  static bool says(const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  }

  std::string top_;
  HostPlaces places_;
};

TEST_F(HostPlacesTest, OrdinaryFoldersAreGranted) {
  EXPECT_EQ(refusal("home/me/project", true), "");
  EXPECT_EQ(refusal("home/me/project/sub", true), "");
  EXPECT_EQ(refusal("srv", true), "");
  EXPECT_EQ(refusal("home/me/.local/bin"), "");
  EXPECT_EQ(refusal("home/me/project/./sub/../"), "") << "the same by another spelling";
}

TEST_F(HostPlacesTest, WhatIsOrHoldsOrLiesInAPlaceIsNot) {
  EXPECT_TRUE(says(refusal("state"), "it is in"));
  EXPECT_TRUE(says(refusal("state/sessions"), "it is in"));
  EXPECT_TRUE(says(refusal("home/me/.mozilla/p"), ".mozilla"));
  EXPECT_TRUE(says(refusal("home/me"), "holds")) << "though it has no .ssh yet";
  EXPECT_TRUE(says(refusal("home/you"), "/.ssh"));
  EXPECT_TRUE(says(refusal("home/you/.ssh"), "never granted"));
  EXPECT_FALSE(refusal("").empty());
  EXPECT_FALSE(refusal("/").empty());
  EXPECT_TRUE(says(refusal("home/me/.local/bin", true), "for writing"));
}

TEST_F(HostPlacesTest, ANameThatOnlyBeginsLikeAPlaceIsAnother) {
  fs::create_directory(top_ + "/state2");
  fs::create_directory(top_ + "/home/me/.mozilla2");
  EXPECT_EQ(refusal("state2"), "");
  EXPECT_EQ(refusal("home/me/.mozilla2"), "");
}

TEST_F(HostPlacesTest, LinksAreNotFollowed) {
  fs::create_directory_symlink("project", top_ + "/home/me/link");
  fs::create_directory_symlink(top_ + "/state", top_ + "/srv/innocent");
  EXPECT_TRUE(says(refusal("home/me/link"), "leads through a link"));
  EXPECT_TRUE(says(refusal("home/me/link/sub"), "leads through a link"));
  EXPECT_FALSE(refusal("srv/innocent").empty());
}

TEST_F(HostPlacesTest, APlaceThatIsALinkIsAlsoWhereItLeads) {
  fs::create_directory(top_ + "/srv/keys");
  fs::create_directory_symlink(top_ + "/srv/keys", top_ + "/home/me/.gnupg");
  EXPECT_TRUE(says(refusal("srv/keys"), ".gnupg"));
  EXPECT_TRUE(says(refusal("srv"), ".gnupg"));
}

TEST_F(HostPlacesTest, AFolderThatHoldsAPlaceByAnotherNameIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  fs::create_directories(top_ + "/data/homes/they/.ssh");
  fs::create_directories(top_ + "/homes");
  in_own_mounts([this] {
    const std::string homes = top_ + "/homes";
    ASSERT_EQ(::mount((top_ + "/data/homes").c_str(), homes.c_str(), nullptr, MS_BIND, nullptr), 0);
    add_home(places_, homes + "/they");
    EXPECT_TRUE(says(refusal("homes/they"), "holds"));
    EXPECT_TRUE(says(refusal("data/homes/they"), "holds")) << "the same under its other name";
    EXPECT_FALSE(refusal("data/homes/they/.ssh").empty());
  });
}

TEST_F(HostPlacesTest, OnlyFoldersThatAreThere) {
  std::ofstream(top_ + "/srv/file") << "x";
  EXPECT_TRUE(says(refusal("srv/file"), "is not a folder"));
  EXPECT_TRUE(says(refusal("srv/absent"), "No such file"));
}

TEST_F(HostPlacesTest, NoTwoOfOneNameAndNoneInAnother) {
  const auto check = [this](const std::string& a, const std::string& b) {
    return check_folders({parse_folder(a).value(), parse_folder(b).value()}, places_, top_);
  };
  EXPECT_EQ(check("home/me/project", "srv").value()[1].path, top_ + "/srv") << "from here";
  EXPECT_TRUE(says(check("home/me/project", "project=srv").error().message, "/mnt/project"));
  EXPECT_TRUE(
      says(check("home/me/project:rw", "home/me/project/sub").error().message, "in the other"));
  EXPECT_TRUE(
      says(check("home/me/project/sub", "home/me/project").error().message, "in the other"));
}

}  // namespace
