// Putting hutch's entry into a client's configuration, and taking it out again to the byte.
#pragma once

#include <string>

#include "tools/setup/client.h"

namespace tools::setup {

inline constexpr const char* kEntryName = "hutch";

// Replaced has the bytes that somebody else's entry was in, and what is left there in their place.
struct Replaced {
  std::size_t at = 0;  // where in the file without setup's entry
  std::string text;    // empty: there was none
  std::string rest;
};

// Holds what will be, or was, done to one file.
struct Change {
  std::string file;  // without links
  std::string before;
  std::string after;
  bool was_there = false;
  bool stays = false;     // the file, if only for what others have written
  Insertion insertion;    // an addition's
  Replaced replaced;      // by an addition
  bool goes_on = false;   // an addition in place of what setup had written there
  bool is_needed = true;  // else all is as it should be
};

// Returns what adding the entry would do: in place of one that setup has written, with what has
// been added to that; with `replaces` also in place of another's. Fails with kConflict where there
// is another's without `replaces`; with kInvalid where the file is none of its format, saying
// where; with kUnsupported where nothing can be added without changing the rest.
base::Result<Change> plan_addition(const Client& client, const std::string& records, bool replaces);
// Returns what taking the entry out would do: the one that setup has written goes, with what has
// been added to it; one that it took the place of comes back. Not needed where there is none. Fails
// with kConflict where the entry says something else now.
base::Result<Change> plan_removal(const Client& client, const std::string& records);

// Does it at once or not at all, and keeps or drops the record of it. Nothing is written when the
// file has changed meanwhile.
base::Status apply_addition(const Client& client, const std::string& records, const Change& change);
base::Status apply_removal(const Client& client, const std::string& records, const Change& change);

// Returns where the text from before the addition is kept.
std::string kept_copy(const Client& client, const std::string& records);

// Returns the lines that differ, with some around them, as diff -u shows them.
std::string difference(const Change& change);

}  // namespace tools::setup
