#include "sessions/restarts.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/random_id.h"
#include "base/text.h"
#include "sandbox/limits.h"
#include "sandbox/sandbox.h"
#include "sessions/ground.h"
#include "sessions/run_ledger.h"
#include "sessions/run_table.h"
#include "sessions/session_directory.h"

namespace sessions {

using base::Error;

namespace {

// Code of 1 MiB may be escaped to six times its size.
constexpr std::size_t kRequestBytesMax = 8U << 20;

base::Result<sandbox::RunRequest> read_request(int directory_fd, const std::string& run_id) {
  const auto file = TRY(base::open_file(directory_fd, run_id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const std::string text = TRY(base::read_all(file.get(), kRequestBytesMax));
  const nlohmann::json value = TRY(base::parse_json(text));
  auto request = TRY(sandbox::request_from_json(value));
  if (request.background && request.restarts_on_wake) return request;
  return base::error(Error::Kind::kInvalid, "no run to be started anew");
}

}  // namespace

std::vector<sandbox::RunRequest> Restarts::due(const Session& session) const {
  std::vector<sandbox::RunRequest> requests;
  const auto directory = base::open_file(AT_FDCWD, ground_.files_of(session.id).kept_runs(),
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.ok()) return requests;  // most sessions have none
  const int directory_fd = directory.value().get();
  for (const std::string& name : base::names_in(directory_fd)) {
    if (!base::is_short_id(name, "run_") || requests.size() >= sandbox::kBackgroundRunsMax)
      continue;
    auto read = read_request(directory_fd, name);
    if (!read.ok()) continue;
    sandbox::RunRequest request = std::move(read).value();
    request.in_place_of = request.run_id;
    request.run_id = base::short_id("run_");
    request.trace = {};
    // There is one file of it at each moment; its box writes it anew, with this id in it.
    if (::renameat(directory_fd, name.c_str(), directory_fd, request.run_id.c_str()) != 0) continue;
    requests.push_back(std::move(request));
  }
  return requests;
}

void Restarts::begin(const Session& session, sandbox::Box& box,
                     const std::vector<sandbox::RunRequest>& requests) const {
  for (const sandbox::RunRequest& request : requests) {
    const auto begun = begin(session, box, request);
    if (begun.ok()) continue;
    ground_.config.notify({Notice::Level::kFailure,
                           "a run could not be started anew: " + begun.error().message, "",
                           session.id, request.run_id});
  }
}

base::Status Restarts::begin(const Session& session, sandbox::Box& box,
                             sandbox::RunRequest request) const {
  Run row;
  row.id = request.run_id;
  row.session_id = session.id;
  row.language = sandbox::name_of(request.language);
  row.background = true;
  row.code_sha256 = TRY(base::sha256_hex(request.code));
  row.server_id = ground_.servers.own_id();
  row.queued_at = base::now_ms();
  TRY(runs_.insert(row));
  const auto submitted = box.submit(request);
  if (!submitted.ok()) {
    TRY(ledger_.refuse(row, submitted.error().message));
    return submitted;
  }
  return runs_.set_started(row.id);
}

std::string Restarts::note_of(const std::vector<sandbox::RunRequest>& requests) {
  constexpr std::size_t kTold = 3;  // get_run lists all
  std::string note;
  for (std::size_t i = 0; i < std::min(requests.size(), kTold); ++i) {
    base::append_part(note, requests[i].in_place_of + " as " + requests[i].run_id);
  }
  if (requests.size() > kTold) {
    base::append_part(note, std::to_string(requests.size() - kTold) + " more");
  }
  return note.empty() ? note : "to be started anew, as the session had lost them: " + note;
}

}  // namespace sessions
