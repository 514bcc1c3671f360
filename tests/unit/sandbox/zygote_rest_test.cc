// Which zygotes a server keeps, the one used last and those of the last minutes, and waits for.
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>

#include "base/fd.h"
#include "sandbox/sandbox.h"
#include "sandbox/wire/zygote_protocol.h"
#include "sandbox/zygote.h"

namespace {

using namespace sandbox;

// Stands for a zygote: takes connections, and tells whether the server's is still open.
class Listener {
 public:
  explicit Listener(const std::string& directory) {
    std::filesystem::create_directories(directory);
    listening_ = base::UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory + "/" + wire::kZygoteSocket;
    EXPECT_LT(path.size(), sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_.get(), 8), 0);
  }

  // The first connection, which is the one that attaches; others only look.
  void accept() { server_ = base::UniqueFd(::accept(listening_.get(), nullptr, nullptr)); }

  [[nodiscard]] bool is_left() const {
    wire::ZygoteRequest request;
    while (true) {
      pollfd one{server_.get(), POLLIN, 0};
      if (::poll(&one, 1, 0) == 0) return false;
      if (::recv(server_.get(), &request, sizeof request, 0) <= 0) return true;
    }
  }

 private:
  base::UniqueFd listening_;
  base::UniqueFd server_;
};

class ZygoteRestTest : public ::testing::Test {
 protected:
  ZygoteRestTest() {
    std::string name = "/tmp/hutch-zygote.XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~ZygoteRestTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] SandboxConfig config(std::chrono::seconds rest) const {
    SandboxConfig config;
    config.zygote = SandboxConfig::Zygote::kStart;
    config.zygote_directory = directory_;
    config.zygote_rest = rest;
    return config;
  }

  std::string directory_;
};

TEST_F(ZygoteRestTest, TheOneUsedLastIsKept) {
  Listener of_host(directory_);
  Listener of_environment(directory_ + "/mine");
  const auto sandbox = make_sandbox(config(std::chrono::seconds(0)));  // attaches to the host's
  of_host.accept();
  sandbox->wait_until_warm("/environments/mine", std::stop_token());
  of_environment.accept();
  sandbox->rest();
  EXPECT_TRUE(of_host.is_left());
  EXPECT_FALSE(of_environment.is_left());
  sandbox->wait_until_warm("", std::stop_token());  // which attaches again
  of_host.accept();                                 // who looked whether it is warm
  sandbox->rest();
  EXPECT_TRUE(of_environment.is_left());
}

TEST_F(ZygoteRestTest, OthersAreKeptForAWhile) {
  Listener of_host(directory_);
  Listener of_environment(directory_ + "/mine");
  const auto sandbox = make_sandbox(config(std::chrono::seconds(600)));
  of_host.accept();
  sandbox->wait_until_warm("/environments/mine", std::stop_token());
  of_environment.accept();
  sandbox->rest();
  EXPECT_FALSE(of_host.is_left());
  EXPECT_FALSE(of_environment.is_left());
}

TEST_F(ZygoteRestTest, NobodyWaitsForOneThatHasEnded) {
  SandboxConfig of_none = config(std::chrono::seconds(0));
  of_none.program_directory = directory_;  // the would-be zygote ends at once
  std::filesystem::create_symlink("/bin/false", directory_ + "/hutch-init");
  const auto sandbox = make_sandbox(of_none);
  std::ofstream(directory_ + "/zygote.log", std::ios::app)
      << "warming\nstart Python: no such file\n";
  const auto waited = wait_for_zygote(directory_, std::chrono::hours(24));
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().message, "start Python: no such file");
  sandbox->wait_until_warm("", std::stop_token());
}

TEST_F(ZygoteRestTest, OneThatIsBeingWarmedIsWaitedFor) {
  SandboxConfig of_slow = config(std::chrono::seconds(0));
  of_slow.program_directory = directory_;
  {
    std::ofstream program(directory_ + "/hutch-init");
    program << "#!/bin/sh\nread -r end <" << directory_ << "/pipe\n";
  }
  std::filesystem::permissions(directory_ + "/hutch-init", std::filesystem::perms::owner_all);
  ASSERT_EQ(::mkfifo((directory_ + "/pipe").c_str(), 0600), 0);
  const auto sandbox = make_sandbox(of_slow);
  EXPECT_TRUE(zygote_lives(directory_));
  std::ofstream(directory_ + "/pipe") << "end\n";
  EXPECT_FALSE(wait_for_zygote(directory_, std::chrono::hours(24)).ok());
  EXPECT_FALSE(zygote_lives(directory_));
}

}  // namespace
