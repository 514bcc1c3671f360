// Lets init tell hutch-box what happened. Everything here works without heap and without locks.
#pragma once

#include <cstddef>

#include "sandbox/wire/init_protocol.h"

namespace sandbox::init {

// Descriptors hutch-box hands over.
inline constexpr int kPlanFd = 3;
inline constexpr int kBoxFd = 4;
inline constexpr int kNetworkFd = 5;  // to hutch-init --network

// Sends one message with an optional descriptor (-1: none) and an optional text. Negative when it
// did not leave; once the box serves, the read side notices a hutch-box that is gone.
int send_to_box(const wire::InitHead& head, int fd, const char* text);

// Reports the step and errno, and ends the process: a half-built box never runs anything.
[[noreturn]] void fail(const char* step);
[[noreturn]] void fail(const char* step, const char* subject);

// Ends with fail() when `result` is negative, else returns it.
int must(int result, const char* step);
int must(int result, const char* step, const char* subject);

}  // namespace sandbox::init
