// A box that was found may end before it is asked: that is told as an end, not as "never heard of".
#include "sandbox/connected_box.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace {

using Kind = base::Error::Kind;

// Its socket is gone, as that of a box which is about to end.
TEST(ConnectedBoxTest, WhatItIsAskedOnceItsSocketIsGoneIsUnavailable) {
  const TemporaryDirectory directory;
  sandbox::ConnectedBox box(directory.path(), 60, sandbox::ConnectedBox::Attach::kYes);
  EXPECT_EQ(box.connect().error().kind, Kind::kNotFound) << "who looks for it finds none";
  EXPECT_EQ(box.submit({}).error().kind, Kind::kUnavailable);
  EXPECT_EQ(box.wait("run_a", {}, {}).error().kind, Kind::kUnavailable);
  EXPECT_EQ(box.status().error().kind, Kind::kUnavailable);
}

}  // namespace
