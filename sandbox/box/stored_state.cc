#include "sandbox/box/stored_state.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sandbox::box {
namespace {

// Node cannot fork: it writes a snapshot that nobody asks for itself, and so only as much as takes
// it little time.
constexpr std::int64_t kUnaskedOfJavaScriptMb = 16;

}  // namespace

base::Result<std::unique_ptr<StoredState>> StoredState::open(EventLoop& loop, int session_fd,
                                                             int root_fd, const BoxSpec& spec) {
  auto opened = TRY(StateDirectory::open(session_fd));
  std::unique_ptr<StoredState> stored(new StoredState(std::move(opened)));
  StateDirectory& directory = stored->directory_;
  stored->has_rested_ = directory.take_rests();
  const std::int64_t most_mb = std::min(spec.autosave_mb, spec.limits.memory_mb);
  for (const Language language : {Language::kPython, Language::kJavaScript}) {
    const std::int64_t unasked_mb =
        language == Language::kJavaScript ? std::min(most_mb, kUnaskedOfJavaScriptMb) : most_mb;
    const KeptState::Most most{.unasked_bytes = unasked_mb << 20,
                               .bytes_in_all = (spec.limits.memory_mb + most_mb) << 20};
    auto kept = TRY(KeptState::open(loop, directory, name_of(language), most));
    stored->interpreters_.emplace(language, std::move(kept));
  }
  stored->shell_ = TRY(KeptShell::open(loop, directory, root_fd, spec.host_uid));
  return stored;
}

std::map<Language, KeptState*> StoredState::interpreters() const {
  std::map<Language, KeptState*> all;
  for (const auto& [language, kept] : interpreters_) all.emplace(language, kept.get());
  return all;
}

std::set<Language> StoredState::put_back() {
  std::set<Language> languages;
  for (const auto& [language, kept] : interpreters_) {
    if (kept->has_snapshot()) languages.insert(language);
  }
  if (shell_->put_back()) languages.insert(Language::kBash);
  return languages;
}

void StoredState::rests() {
  directory_.set_rests();
  flush();
}

// Snapshots are there already, and the next box does with an older copy where a disk fails.
void StoredState::flush() {
  shell_->flush();
  (void)::fsync(directory_.fd());
}

bool StoredState::take_killed_writer() {
  // JavaScript has no writer beside itself, but another node reads back what was asked for.
  return interpreters_.at(Language::kPython)->take_writer() ||
         interpreters_.at(Language::kJavaScript)->take_reader();
}

}  // namespace sandbox::box
