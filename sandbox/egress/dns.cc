#include "sandbox/egress/dns.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>

#include <cstring>

namespace sandbox::egress {
namespace {

constexpr std::uint32_t kTtlSeconds = 60;
constexpr std::size_t kHeadBytes = 12;
constexpr std::uint16_t kNameOfQuestion = 0xC000 | kHeadBytes;  // a pointer, RFC 1035 4.1.4
constexpr std::uint8_t kIsResponse = 0x80;
constexpr std::uint8_t kRecursionDesired = 0x01;
constexpr std::uint8_t kRecursionAvailable = 0x80;

void put16(std::string& bytes, std::uint16_t value) {
  bytes += static_cast<char>(value >> 8);
  bytes += static_cast<char>(value & 0xFF);
}

void put32(std::string& bytes, std::uint32_t value) {
  put16(bytes, static_cast<std::uint16_t>(value >> 16));
  put16(bytes, static_cast<std::uint16_t>(value & 0xFFFF));
}

std::string head_of(const ns_msg& message, bool recursion_desired, int code, bool has_answer,
                    std::uint16_t questions) {
  std::string head;
  put16(head, static_cast<std::uint16_t>(ns_msg_id(message)));
  head += static_cast<char>(kIsResponse | (recursion_desired ? kRecursionDesired : 0));
  head += static_cast<char>(kRecursionAvailable | code);
  put16(head, questions);
  put16(head, has_answer ? 1 : 0);
  put32(head, 0);  // neither authorities nor anything further
  return head;
}

void put_address(std::string& reply, std::uint32_t address) {
  put16(reply, kNameOfQuestion);
  put16(reply, ns_t_a);
  put16(reply, ns_c_in);
  put32(reply, kTtlSeconds);
  put16(reply, sizeof address);
  put32(reply, address);
}

int code_of(Lookup::Verdict verdict) {
  if (verdict == Lookup::Verdict::kAllowed) return ns_r_noerror;
  return verdict == Lookup::Verdict::kTooMany ? ns_r_refused : ns_r_nxdomain;
}

}  // namespace

std::optional<std::string> answer_query(std::string_view query,
                                        const std::function<Lookup(const std::string&)>& look_up) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(query.data());
  ns_msg message;
  if (::ns_initparse(bytes, static_cast<int>(query.size()), &message) != 0) return std::nullopt;
  if (ns_msg_getflag(message, ns_f_qr) != 0) return std::nullopt;
  const bool wanted = ns_msg_getflag(message, ns_f_rd) != 0;
  if (ns_msg_getflag(message, ns_f_opcode) != ns_o_query) {
    return head_of(message, wanted, ns_r_notimpl, false, 0);
  }
  ns_rr question;
  if (ns_msg_count(message, ns_s_qd) != 1 || ::ns_parserr(&message, ns_s_qd, 0, &question) != 0) {
    return head_of(message, wanted, ns_r_formerr, false, 0);
  }
  const unsigned char* end_of_name = bytes + kHeadBytes;
  if (::ns_name_skip(&end_of_name, bytes + query.size()) != 0) return std::nullopt;
  const auto question_bytes = static_cast<std::size_t>(end_of_name - bytes) + 4 - kHeadBytes;

  const Lookup found = look_up(ns_rr_name(question));
  const bool has_answer = found.verdict == Lookup::Verdict::kAllowed &&
                          ns_rr_type(question) == ns_t_a && ns_rr_class(question) == ns_c_in;
  std::string reply = head_of(message, wanted, code_of(found.verdict), has_answer, 1);
  reply += query.substr(kHeadBytes, question_bytes);
  if (has_answer) put_address(reply, found.address);
  return reply;
}

}  // namespace sandbox::egress
