// Ids of sessions in host names, and back.
#include "sessions/host_id.h"

#include <gtest/gtest.h>

#include "base/random_id.h"

namespace sessions {
namespace {

TEST(HostId, IsTheIdWithoutUnderscores) {
  EXPECT_EQ(host_id("session_k2"), "session-k2");
  const std::string id = base::short_id("session_");
  EXPECT_EQ(session_id_of(host_id(id)), id);
  EXPECT_EQ(session_id_of(id), id) << "as it is";
}

TEST(HostId, WhateverElseStaysAsItIs) {
  for (const char* text : {"", "session-", "session-/../etc", "session-UPPER", "name-k2"}) {
    EXPECT_EQ(session_id_of(text), text);
  }
}

}  // namespace
}  // namespace sessions
