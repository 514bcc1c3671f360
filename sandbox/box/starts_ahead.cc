#include "sandbox/box/starts_ahead.h"

#include <algorithm>
#include <utility>

#include "sandbox/box/profiles.h"

namespace sandbox::box {

void StartsAhead::start() {
  // A copy of the zygote, and what agents use most.
  if (std::ranges::find(of_.languages, Language::kPython) != of_.languages.end()) {
    of_.start(Language::kPython);
  }
  start_ = of_.loop.after(of_.pause, [this] {
    start_ = 0;
    for (const Language language : of_.languages) {
      if (language == Language::kPython) continue;
      of_.start(language);
      unused_.insert(interpreter_of(language));
    }
  });
}

void StartsAhead::end_unused_soon() {
  of_.loop.cancel(start_);
  if (unused_.empty() || unused_end_ != 0) return;
  unused_end_ = of_.loop.after(of_.unused_most, [this] {
    for (const Language interpreter : std::exchange(unused_, {})) of_.end(interpreter);
  });
}

}  // namespace sandbox::box
