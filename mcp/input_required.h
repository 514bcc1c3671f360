// An answer that asks the client for something first.
#pragma once

#include "base/json_value.h"

namespace mcp {

// The request ends with it; the client sends the same request again with the answers, which are
// CallContext::input_responses() then. What a client did not declare is taken out of the requests.
// A client of a revision that has initialize is asked at once, and the handler called once more.
struct InputRequired {
  // It maps a key to {method, params}: elicitation/create, sampling/createMessage, roots/list.
  base::JsonValue requests = base::JsonValue::object();
  // Comes back as CallContext::request_state(). Sealed: the client can neither read nor change it,
  // nor use it for another request. Null: none.
  base::JsonValue state = nullptr;
};

}  // namespace mcp
