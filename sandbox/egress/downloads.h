// Downloads keeps, for all sessions of this state directory, what hosts of packages have answered,
// so that a second session needs no network for it. Only doors write here, and no box sees it: a
// session is given what the host has answered to exactly that request (RFC 9111).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/draft.h"
#include "base/fd.h"

namespace sandbox::egress {

// A KeptHead is the head of an answer, and for how long it need not be asked for again.
struct KeptHead {
  std::vector<std::pair<std::string, std::string>> fields;  // HTTP's, without the framing
  std::int64_t fresh_seconds = 0;
  bool must_ask = false;  // once that is over, even if the host cannot be reached

  [[nodiscard]] std::string_view field(std::string_view name) const;  // empty: none; "etag"
};

class Downloads {
 public:
  // A Kept is one answer as it was looked up, whatever takes its place meanwhile.
  struct Kept {
    base::UniqueFd file;
    KeptHead head;
    std::int64_t body_bytes = 0;
    std::int64_t age_seconds = 0;  // since the host was asked last

    [[nodiscard]] bool is_fresh() const { return age_seconds < head.fresh_seconds; }
    // Fewer bytes than there is room for: its end, or it cannot be read.
    std::size_t read(std::int64_t offset, std::span<char> part) const;
  };

  // A Coming is an answer that is coming in. It is kept when it is whole, and no trace of it else.
  class Coming {
   public:
    explicit Coming(int directory_fd) : draft_(directory_fd) {}

    void add(std::string_view part);

   private:
    friend class Downloads;
    base::Draft draft_;
    std::int64_t bytes_ = 0;
    bool is_lost_ = false;  // no room
  };

  // Nothing is kept when `directory` is invalid. The oldest go above `bytes_most`, those that were
  // not used longest.
  Downloads(base::UniqueFd directory, std::int64_t bytes_most);

  [[nodiscard]] bool keeps() const { return directory_.valid(); }
  // Returns a name for a request, of everything that its answer depends on.
  static std::string key_of(std::span<const std::string> parts);
  // Returns nothing when there is none, or it is damaged.
  std::optional<Kept> find(const std::string& key);
  std::unique_ptr<Coming> begin();
  void finish(const std::string& key, std::unique_ptr<Coming> coming, const KeptHead& head);
  // The host says that it has not changed.
  void renew(const Kept& kept);

 private:
  void make_room();

  base::UniqueFd directory_;
  const std::int64_t bytes_most_;
  std::int64_t bytes_ = -1;  // -1: not looked yet
};

}  // namespace sandbox::egress
