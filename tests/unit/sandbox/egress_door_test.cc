// A door takes all that a box has said before it answers what the box's session asks for.
#include "sandbox/egress/door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

#include "base/unix_socket.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace sandbox::egress;
using nlohmann::json;

// RFC 1035, 4.1: a question for the address of "more.test".
const std::string kQuestion(
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04more\x04test\x00\x00\x01\x00\x01", 27);
constexpr std::size_t kCodeAt = 3;  // the low four bits say how it went

base::UniqueFd udp_socket() {
  base::UniqueFd made(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(made.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  return made;
}

void send(const base::UniqueFd& box, const json& message, const int* fd = nullptr) {
  EXPECT_TRUE(base::send_packet(box.get(), message.dump(), fd, fd == nullptr ? 0 : 1).ok());
}

TEST(Door, RequestsAreJudgedByAllThatTheBoxHasSaid) {
  TemporaryDirectory folder;
  const auto directory = base::open_file(AT_FDCWD, folder.path(), O_RDONLY | O_DIRECTORY).value();
  asio::io_context context{1};
  const Door door(context, base::listen_at(directory.get(), "door.sock", SOCK_SEQPACKET).value(),
                  Downloads(base::UniqueFd(), 0));
  const auto box =
      base::connect_to(directory.get(), "door.sock", std::chrono::seconds(5), SOCK_SEQPACKET)
          .value();
  const base::UniqueFd names = udp_socket();
  sockaddr_in place{};
  socklen_t size = sizeof place;
  ASSERT_EQ(::getsockname(names.get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
  const base::UniqueFd asker = udp_socket();
  const json addresses = {{"more.test", "127.0.0.1"}};
  send(box, {{"op", "open"}, {"session_id", "s"}, {"addresses", addresses}});
  const int fd = names.get();
  send(box, {{"op", "listener"}, {"kind", "dns_udp"}, {"port", 53}}, &fd);
  for (int i = 0; i < 20; ++i) send(box, {{"op", "rules"}, {"addresses", addresses}});
  send(box, {{"op", "rules"}, {"addresses", addresses}, {"rules", json::array({"more.test:443"})}});
  ASSERT_EQ(::sendto(asker.get(), kQuestion.data(), kQuestion.size(), 0,
                     reinterpret_cast<sockaddr*>(&place), sizeof place),
            static_cast<ssize_t>(kQuestion.size()));
  char answer[512];
  ssize_t answered = -1;
  while (answered < 0 && context.run_one_for(std::chrono::seconds(5)) > 0) {
    answered = ::recv(asker.get(), answer, sizeof answer, MSG_DONTWAIT);
  }
  ASSERT_GT(answered, static_cast<ssize_t>(kCodeAt));
  EXPECT_EQ(answer[kCodeAt] & 0xF, 0) << "its name is refused";
}

}  // namespace
