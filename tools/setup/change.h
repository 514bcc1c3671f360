// Putting hutch's entry into a client's configuration, and taking it out again to the byte.
#pragma once

#include <string>

#include "tools/setup/client.h"

namespace tools::setup {

inline constexpr const char* kEntryName = "hutch";

// What will be, or was, done to one file.
struct Change {
  std::string file;  // without links
  std::string before;
  std::string after;
  bool was_there = false;
  bool stays = false;     // the file, if only for what others have written
  Insertion insertion;    // of an addition
  bool is_needed = true;  // else all is as it should be
};

// What adding the entry would do. kConflict: another entry of that name is there. kInvalid: the
// file is none of its format, and where. kUnsupported: nothing can be added without changing the
// rest.
base::Result<Change> plan_addition(const Client& client, const std::string& records);
// What taking it out would do; not needed where setup has written nothing that is still there.
base::Result<Change> plan_removal(const Client& client, const std::string& records);

// Does it at once or not at all, and keeps or drops the record of it. Nothing is written when the
// file has changed meanwhile.
base::Status apply_addition(const Client& client, const std::string& records, const Change& change);
base::Status apply_removal(const Client& client, const std::string& records, const Change& change);

// Where the text from before the addition is kept.
std::string kept_copy(const Client& client, const std::string& records);

// The lines that differ, with some around them, as diff -u shows them.
std::string difference(const Change& change);

}  // namespace tools::setup
