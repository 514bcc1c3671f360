#include "sessions/slow_start.h"

#include <utility>

namespace sessions {
namespace {

thread_local const SlowStart::Told* t_told = nullptr;

}  // namespace

SlowStart::SlowStart(Told told) : told_(std::move(told)) { t_told = &told_; }

SlowStart::~SlowStart() { t_told = nullptr; }

void SlowStart::tell(double done, const std::string& what) {
  if (t_told != nullptr) (*t_told)(done, what);
}

}  // namespace sessions
