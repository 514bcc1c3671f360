// Heads of HTTP on their way to servers in sessions, and back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/ports/head.h"
#include "tools/ports/link.h"

namespace ports = tools::ports;

namespace {

const ports::Inward kByHost{.port = 80,
                            .keeps_origin = true,
                            .secrets = {"Authorization"},
                            .secret_cookies = {"hutch_access"}};
const ports::Inward kByPath{.port = 80, .prefix = "/ports/s/80", .secrets = {"Authorization"}};

// One head, and nothing behind it that a server could take for another.
void check_head(const std::string& head) {
  if (!head.ends_with("\r\n\r\n") || head.find("\r\n\r\n") != head.size() - 4) std::abort();
}

void check_request(std::string_view input, const ports::Inward& how) {
  const auto head = ports::head_for_server(input, how);
  if (!head.ok()) return;
  check_head(head.value().text);
  if (ports::head_for_server(head.value().text, {.port = 80, .keeps_origin = true}).ok()) return;
  std::abort();  // the bytes that go on cannot be read again
}

void check_response(std::string_view input, const ports::Inward& how) {
  std::string come(input);
  const auto opened = ports::head_for_client(false, how)(come);
  if (opened.ok() && opened.value()) check_head(*opened.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const ports::Inward& how : {kByHost, kByPath}) {
    check_request(input, how);
    check_response(input, how);
  }
  const std::string target = ports::without_access(input);
  if (!target.starts_with('/') || target.starts_with("//")) std::abort();
  (void)ports::parts_of(input);
  return 0;
}
