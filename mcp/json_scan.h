// Looks at the JSON text of one message as it streams by, without building anything of it: how deep
// it is, how many values it has, and its top-level id. So a message that is refused unparsed, or
// was never kept whole, still gets its error under the id its sender waits for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace mcp {

class JsonScan {
 public:
  // Takes the next bytes of the text; any split will do. Needs constant memory.
  void feed(std::string_view bytes);

  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] bool too_many_values() const;

  // Returns the id of the request fed so far; null when it has none, or none that could be
  // answered. Null for a response, too: its id is one of ours, and may be that of another request
  // of its sender.
  [[nodiscard]] nlohmann::json id() const;

 private:
  void read_structure(char byte);
  void enter();
  void leave();
  void end_string();
  void end_member();
  void keep(char byte);

  bool in_string_ = false;
  bool escaped_ = false;
  bool too_deep_ = false;
  std::size_t depth_ = 0;
  std::size_t values_ = 1;
  // These follow the members of the top-level object, one at a time.
  std::string key_;  // as written, or as much as tells it from "id"
  bool after_colon_ = false;
  bool has_method_ = false;
  bool in_id_ = false;  // between the colon after "id" and the end of its value
  std::string id_text_;
};

}  // namespace mcp
