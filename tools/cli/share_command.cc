// hutch share: the files that sessions have given away.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sessions/share_table.h"
#include "sessions/store.h"
#include "tools/cli/commands.h"
#include "tools/cli/terminal.h"

namespace tools::cli {

using nlohmann::json;

namespace {

void print_as_json(Application& app, const std::vector<sessions::Share>& shares) {
  json all = json::array();
  for (const sessions::Share& share : shares) {
    // Not host_path: that is the copy which is the person's to keep, as share_file tells it.
    all.push_back(
        {{"id", share.id},
         {"filename", share.filename},
         {"bytes", share.bytes},
         {"mime_type", share.mime_type},
         {"sha256", share.sha256},
         {"stored_path", app.share().stored_path(share)},
         {"created_at", base::to_rfc3339(share.created_at)},
         {"expires_at", share.expires_at ? json(base::to_rfc3339(*share.expires_at)) : json()}});
  }
  std::cout << base::print_json(all) << "\n";
}

// The name comes last: it may be long, and have spaces.
void print_table(const std::vector<sessions::Share>& shares) {
  std::size_t id_width = 2;
  std::size_t type_width = 4;
  for (const sessions::Share& share : shares) {
    id_width = std::max(id_width, share.id.size());
    type_width = std::max(type_width, share.mime_type.size());
  }
  const auto print = [&](const std::string& id, const std::string& bytes, const std::string& type,
                         const std::string& expires, const std::string& name) {
    std::cout << std::left << std::setw(static_cast<int>(id_width) + 2) << id << std::right
              << std::setw(9) << bytes << "  " << std::left
              << std::setw(static_cast<int>(type_width) + 2) << type << std::setw(26) << expires
              << name << "\n";
  };
  print("ID", "BYTES", "TYPE", "EXPIRES", "NAME");
  for (const sessions::Share& share : shares) {
    print(share.id, std::to_string(share.bytes), share.mime_type,
          share.expires_at ? base::to_rfc3339(*share.expires_at) : "never", share.filename);
  }
}

// As of cp: into a directory, under the name it was shared with.
std::string place_of(const sessions::Share& share, const std::string& target) {
  if (target.empty()) return share.filename;
  std::error_code ignored;
  if (!std::filesystem::is_directory(target, ignored)) return target;
  return target + (target.ends_with('/') ? "" : "/") + share.filename;
}

}  // namespace

base::Result<int> share_list(Application& app, bool as_json) {
  const auto shares = TRY(app.store().shares.list(app.principal_id()));
  if (as_json) {
    print_as_json(app, shares);
  } else if (shares.empty()) {
    std::cout << "nothing is shared\n";
  } else {
    print_table(shares);
  }
  return 0;
}

base::Result<int> share_remove(Application& app, const std::string& id) {
  // Whoever shared it: the state directory is the operator's.
  const sessions::Share share = TRY(app.store().shares.find_linked(id));
  TRY(app.share().revoke(share.principal_id, id));
  std::cout << "taken back: " << id << "\n";
  return 0;
}

base::Result<int> share_get(Application& app, const std::string& id, const std::string& target) {
  const sessions::Share share = TRY(app.store().shares.find(app.principal_id(), id));
  const base::UniqueFd source = TRY(app.share().open_stored(share));
  const std::string content = TRY(base::read_all(source.get(), share::kShareBytesMax));
  if (target == "-") {
    TRY(print_of_sandbox(std::cout, content));
    return 0;
  }
  const std::string name = place_of(share, target);
  // Never over a file that is there: the name came out of a sandbox.
  auto made = base::open_file(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!made.ok() && made.error().os_errno == EEXIST) {
    return base::error(
        base::Error::Kind::kConflict,
        name + " exists already, and nothing is replaced: give another name with -o");
  }
  const base::UniqueFd file = TRY(std::move(made));
  if (::fchmod(file.get(), 0666 & ~app.settings().user_umask) != 0) {
    return base::Error::from_errno("fchmod " + name);
  }
  if (auto written = base::write_all(file.get(), content); !written.ok()) {
    (void)::unlink(name.c_str());  // half of it would look like the whole
    return std::move(written).error();
  }
  std::cout << name << "\n";
  return 0;
}

}  // namespace tools::cli
