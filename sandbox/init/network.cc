// The box's own network namespace: it has a loopback interface, which starts down, and no other. A
// box with a network gets addresses of its own on it, and sockets there that somebody outside
// accepts from, at its start or later. netdevice(7), rtnetlink(7), ioctl_ns(2).
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

constexpr int kBacklog = 512;

in_addr address_of(const char* text) {
  in_addr address{};
  if (::inet_pton(AF_INET, text, &address) != 1) fail("read an address of the plan:", text);
  return address;
}

// Attributes follow the head as rtnetlink(7) aligns them.
struct RouteRequest {
  nlmsghdr head;
  rtmsg route;
  char attributes[64];
};

void add_attribute(RouteRequest& request, unsigned short type, const void* data, unsigned size) {
  auto* const attribute = reinterpret_cast<rtattr*>(reinterpret_cast<char*>(&request) +
                                                    NLMSG_ALIGN(request.head.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
  std::memcpy(RTA_DATA(attribute), data, size);
  request.head.nlmsg_len = NLMSG_ALIGN(request.head.nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

// As `ip route add local ADDRESS/BITS dev lo`.
void add_route(const wire::PlanRecord& record) {
  RouteRequest request{};
  request.head.nlmsg_len = NLMSG_LENGTH(sizeof request.route);
  request.head.nlmsg_type = RTM_NEWROUTE;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
  request.route.rtm_family = AF_INET;
  request.route.rtm_dst_len = static_cast<unsigned char>(std::atoi(record.fields[1]));
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_BOOT;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  const in_addr address = address_of(record.fields[0]);
  add_attribute(request, RTA_DST, &address, sizeof address);
  const unsigned loopback = ::if_nametoindex("lo");
  if (loopback == 0) fail("find loopback");
  add_attribute(request, RTA_OIF, &loopback, sizeof loopback);

  const int fd =
      must(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), "socket for routes");
  must(static_cast<int>(::send(fd, &request, request.head.nlmsg_len, 0)), "ask for a route");
  struct {
    nlmsghdr head;
    nlmsgerr error;
    char rest[256];
  } answer{};
  const ssize_t size = ::recv(fd, &answer, sizeof answer, 0);
  if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof answer.error.error)) ||
      answer.head.nlmsg_type != NLMSG_ERROR) {
    errno = EPROTO;
    fail("add a route");
  }
  errno = -answer.error.error;
  // It may be there already where more is opened than there was.
  if (errno != 0 && errno != EEXIST) fail("add a route", record.fields[0]);
  must(::close(fd), "close");
}

void listen_for_box(const wire::PlanRecord& record) {
  const bool stream = std::strcmp(record.fields[0], "tcp") == 0;
  const int type = stream ? SOCK_STREAM : SOCK_DGRAM;
  const int fd =
      must(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket for the network");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = address_of(record.fields[1]);
  address.sin_port = htons(static_cast<unsigned short>(std::atoi(record.fields[2])));
  must(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind to port",
       record.fields[2]);
  if (stream) must(::listen(fd, kBacklog), "listen");
  wire::InitHead head;
  head.type = wire::InitMessage::kListener;
  must(send_to_box(head, fd, nullptr), "hand over a socket");
  must(::close(fd), "close");
}

}  // namespace

void bring_up_loopback() {
  const int fd = must(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket for loopback");
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  must(::ioctl(fd, SIOCGIFFLAGS, &request), "read loopback flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP | IFF_RUNNING);
  must(::ioctl(fd, SIOCSIFFLAGS, &request), "bring up loopback");
  must(::close(fd), "close");
}

void open_network(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op == wire::PlanOp::kRoute) add_route(record);
    if (record.op == wire::PlanOp::kListen) listen_for_box(record);
  }
}

void hand_over_network() {
  const int fd = must(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "open our network");
  wire::InitHead head;
  head.type = wire::InitMessage::kNetwork;
  must(send_to_box(head, fd, nullptr), "hand over our network");
  must(::close(fd), "close");
}

// By the right of whoever has made a user namespace over it (user_namespaces(7), "Capabilities"):
// neither pid 1 nor hutch-box has any.
void enter_network() {
  const Plan& plan = map_plan();
  const int owner = must(::ioctl(kNetworkFd, NS_GET_USERNS), "find the owner of the network");
  must(::setns(owner, CLONE_NEWUSER), "enter the box's user namespace");
  must(::setns(kNetworkFd, CLONE_NEWNET), "enter the box's network");
  open_network(plan);
  announce_ready(0);
}

}  // namespace sandbox::init
