// Which folders of the host a session gets, by what was asked for and what is granted now.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "sessions/boxes.h"
#include "sessions/grants.h"
#include "sessions/manager.h"
#include "sessions/manager_config.h"
#include "sessions/principal_table.h"
#include "sessions/session.h"
#include "sessions/session_options.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "tests/unit/tools/fake_sandbox.h"
#include "tools/session_wishes.h"

namespace {

using nlohmann::json;
using sandbox::HostFolder;

HostFolder folder(const std::string& name, bool writable, const std::string& path = "") {
  return {name, path.empty() ? "/srv/" + name : path, writable, {}, 1, 1};
}

// A server that grants these; each looks the same when looked at again, but for those in `gone`.
sessions::GrantedFolders granted(std::vector<HostFolder> all, bool unasked = false,
                                 const std::string& gone = "") {
  sessions::GrantedFolders folders;
  folders.all = std::move(all);
  folders.unasked = unasked;
  folders.decides = true;
  folders.look_again = [gone](const HostFolder& one) -> base::Result<HostFolder> {
    if (one.name != gone) return one;
    return base::error(base::Error::Kind::kInvalid, "it is gone from " + one.path);
  };
  return folders;
}

class GrantedFolders : public ::testing::Test {
 protected:
  GrantedFolders() : directory_(::testing::TempDir() + "hutch_granted_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    store_ = sessions::Store::open(directory_ + "/hutch.db").value();
    principal_ = store_->principals.ensure("p").value();
  }
  ~GrantedFolders() override {
    manager_.reset();
    std::filesystem::remove_all(directory_);
  }

  sessions::Manager& serve(sessions::GrantedFolders folders) {
    manager_.reset();
    sessions::ManagerConfig config;
    config.state_directory = directory_;
    config.folders = std::move(folders);
    manager_ = sessions::Manager::open(std::move(config), *store_, sandbox_).value();
    return *manager_;
  }
  std::string refusal(const json& filesystem) {
    sessions::SessionOptions options;
    auto wish = tools::filesystem_wish(filesystem);
    if (!wish.ok()) return wish.error().message;
    options.filesystem = std::move(wish).value();
    const auto made = manager_->services().sessions.create(principal_, options);
    return made.ok() ? "" : made.error().message;
  }
  sessions::Session make(const json& filesystem = nullptr) {
    sessions::SessionOptions options;
    options.filesystem = tools::filesystem_wish(filesystem).value();
    return manager_->services().sessions.create(principal_, options).value().session;
  }
  // As "name:rw name" of the newest box.
  std::string given() {
    std::string text;
    const std::vector<HostFolder> folders = sandbox_.started().back().host_folders;
    for (const HostFolder& one : folders) {
      text += (text.empty() ? "" : " ") + one.name + (one.writable ? ":rw" : "");
      for (const std::string& path : one.blocked) text += "-" + path;
    }
    return text;
  }
  std::string note() { return sandbox_.started().back().note; }

  std::string directory_;
  std::unique_ptr<sessions::Store> store_;
  std::string principal_;
  sandbox::fake::FakeSandbox sandbox_;
  std::unique_ptr<sessions::Manager> manager_;
};

TEST_F(GrantedFolders, ForManyClientsOnlyWhatIsAskedFor) {
  serve(granted({folder("a", true), folder("b", false)}));
  make();
  EXPECT_EQ(given(), "");
  make({{"read_only", {"a"}}});
  EXPECT_EQ(given(), "a");
  make({{"read_write", {"/mnt/a"}}, {"read_only", {"/mnt/b/"}}, {"blocked", {"/mnt/a/x/y"}}});
  EXPECT_EQ(given(), "b a:rw-x/y");
}

TEST_F(GrantedFolders, ForOneUserAllOfThemUnlessFewerAreAskedFor) {
  serve(granted({folder("a", true), folder("b", false)}, true));
  make();
  EXPECT_EQ(given(), "a:rw b");
  make(json::object());
  EXPECT_EQ(given(), "a:rw b");
  make({{"blocked", {"b/secret"}}});
  EXPECT_EQ(given(), "a:rw b-secret");
  make({{"read_only", json::array()}});
  EXPECT_EQ(given(), "");
}

TEST_F(GrantedFolders, NeverMoreThanGranted) {
  serve(granted({folder("a", true), folder("b", false)}, true));
  EXPECT_NE(refusal({{"read_write", {"b"}}}).find("--mount b=PATH:rw"), std::string::npos);
  EXPECT_NE(refusal({{"read_write", {"b"}}}).find("[mounts] b = \"PATH:rw\""), std::string::npos);
  EXPECT_NE(refusal({{"read_only", {"c"}}}).find("--mount c=PATH,"), std::string::npos);
  for (const json& bad : std::initializer_list<json>{{{"read_only", {"a/sub"}}},
                                                     {{"read_only", {"/etc"}}},
                                                     {{"read_only", {""}}},
                                                     {{"read_only", {"a", "a"}}},
                                                     {{"read_only", {"a"}}, {"read_write", {"a"}}},
                                                     {{"read_only", std::string("a\0b", 3)}},
                                                     {{"read_only", 1}},
                                                     {{"blocked", {"/mnt/a/../b"}}},
                                                     {{"blocked", {"/mnt/a//b"}}},
                                                     {{"blocked", {"/usr/bin"}}},
                                                     {{"else", {"a"}}}}) {
    EXPECT_NE(refusal(bad), "") << bad;
  }
}

TEST_F(GrantedFolders, WhatWasAskedForIsCutWithWhatIsGrantedNow) {
  serve(granted({folder("a", true), folder("b", true)}));
  const auto session = make({{"read_write", {"a", "b"}}});
  EXPECT_EQ(given(), "a:rw b:rw");
  serve(granted({folder("a", false), folder("c", true)}, true));
  ASSERT_TRUE(manager_->services().boxes.box_of(session).ok());
  EXPECT_EQ(given(), "a") << "the box that lived had more";
  EXPECT_NE(note().find("/mnt/a is read-only now"), std::string::npos);
  EXPECT_NE(note().find("/mnt/b is missing"), std::string::npos);
  serve(granted({folder("a", true, "/elsewhere/a"), folder("b", true)}));
  ASSERT_TRUE(manager_->services().boxes.box_of(session).ok());
  EXPECT_EQ(given(), "b:rw") << "another folder of that name is another";
}

TEST_F(GrantedFolders, AFolderThatIsGoneIsToldWithoutItsPathToOthers) {
  serve(granted({folder("a", true)}, false, "a"));
  make({{"read_write", {"a"}}});
  EXPECT_EQ(given(), "");
  EXPECT_NE(note().find("/mnt/a is missing"), std::string::npos);
  EXPECT_EQ(note().find("/srv/a"), std::string::npos);
  serve(granted({folder("a", true)}, true, "a"));
  make();
  EXPECT_NE(note().find("/srv/a"), std::string::npos);
}

TEST_F(GrantedFolders, ABoxThatHasWhatItIsToHaveIsLeftAlone) {
  serve(granted({folder("a", true)}, true));
  const auto session = make();
  const std::size_t started = sandbox_.started().size();
  ASSERT_TRUE(manager_->services().boxes.box_of(session).ok());
  serve(granted({folder("a", true)}, true));
  ASSERT_TRUE(manager_->services().boxes.box_of(session).ok());
  EXPECT_EQ(sandbox_.started().size(), started);
  serve(granted({folder("a", true), folder("b", false)}, true));
  ASSERT_TRUE(manager_->services().boxes.box_of(session).ok());
  EXPECT_EQ(given(), "a:rw b") << "one more is granted, and nothing runs";
  sessions::GrantedFolders none;
  serve(none);
  ASSERT_TRUE(manager_->services().boxes.box_of(session).ok());
  EXPECT_EQ(sandbox_.started().size(), started + 1)
      << "a command that grants nothing decides nothing";
}

}  // namespace
