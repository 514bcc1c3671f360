#include "sandbox/init/report.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

namespace sandbox::init {

int send_to_box(const wire::InitHead& head, int fd, const char* text) {
  iovec parts[2];
  parts[0] = {const_cast<wire::InitHead*>(&head), sizeof head};
  parts[1] = {const_cast<char*>(text), text != nullptr ? std::strlen(text) : 0};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = text != nullptr ? 2 : 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* entry = CMSG_FIRSTHDR(&message);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(entry), &fd, sizeof fd);
  }
  while (true) {
    const ssize_t sent = ::sendmsg(kBoxFd, &message, MSG_NOSIGNAL);
    if (sent >= 0) return 0;
    if (errno != EINTR) return -1;
  }
}

void fail(const char* step) { fail(step, nullptr); }

void fail(const char* step, const char* subject) {
  wire::InitHead head;
  head.type = wire::InitMessage::kFailed;
  head.value = errno;
  char text[512];
  std::size_t length = 0;
  for (const char* part :
       {step, subject != nullptr ? " " : "", subject != nullptr ? subject : ""}) {
    const std::size_t size = std::strlen(part);
    const std::size_t room = sizeof text - 1 - length;
    std::memcpy(text + length, part, size < room ? size : room);
    length += size < room ? size : room;
  }
  text[length] = '\0';
  (void)send_to_box(head, -1, text);
  ::_exit(1);
}

int must(int result, const char* step) { return must(result, step, nullptr); }

int must(int result, const char* step, const char* subject) {
  if (result < 0) fail(step, subject);
  return result;
}

}  // namespace sandbox::init
