// An Http2Exchange is one request of HTTP/2 and its answer, on their way through the door.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sandbox/egress/http2_side.h"
#include "sandbox/egress/http_loan.h"
#include "sandbox/egress/session.h"

namespace sandbox::egress {

struct Http2Exchange {
  explicit Http2Exchange(std::int32_t id) : client_id(id) {}

  const std::int32_t client_id;
  std::int32_t host_id = 0;  // once it has gone there
  Http2Fields fields;        // the request's, until it is its turn
  Http2Body request;
  Http2Body answer;
  bool is_grpc = false;
  bool is_head = false;
  int interim_answers = 0;
  bool is_answered = false;    // the answer's head has gone
  bool drops_request = false;  // the rest of the request goes nowhere
  bool has_client = true;      // its stream is open
  bool has_host = false;
  std::optional<HttpLoan> loan;
  unsigned status = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::optional<RequestNote> note;  // counts these two

  [[nodiscard]] const Redactor* redactor() const { return loan ? loan->redactor() : nullptr; }

  // Adds a part of the host's body. Bytes at its end that may be the beginning of a secret wait for
  // what follows.
  void add_to_answer(std::string_view part) {
    answer.bytes.append(part);
    std::size_t held = 0;
    if (redactor() != nullptr) {
      const std::size_t done = answer.begin + answer.ready;
      held = redactor()->redact({answer.bytes.data() + done, answer.bytes.size() - done});
    }
    answer.ready = answer.size() - held;
  }
  void end_answer() {
    answer.ready = answer.size();
    answer.is_whole = true;
  }
};

}  // namespace sandbox::egress
