// hutch share: the files that sessions have given away.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>

#include <nlohmann/json.hpp>

#include "sandbox/base/clock.h"
#include "sandbox/wire/json.h"
#include "tools/cli/commands.h"

namespace tools::cli {

using nlohmann::json;

base::Result<int> share_list(Application& app, bool as_json) {
  const auto shares = TRY(app.store().list_shares(app.principal_id()));
  json all = json::array();
  for (const sessions::Share& share : shares) {
    const std::string path = app.share().stored_path(share);
    if (as_json) {
      all.push_back(
          {{"id", share.id},
           {"filename", share.filename},
           {"bytes", share.bytes},
           {"mime_type", share.mime_type},
           {"sha256", share.sha256},
           {"host_path", path},
           {"created_at", base::to_rfc3339(share.created_at)},
           {"expires_at", share.expires_at ? json(base::to_rfc3339(*share.expires_at)) : json()}});
    } else {
      std::cout << share.id << "  " << share.bytes << "  " << share.mime_type << "  " << path
                << "\n";
    }
  }
  if (as_json) std::cout << sandbox::wire::print_json(all) << "\n";
  if (!as_json && shares.empty()) std::cout << "nothing is shared\n";
  return 0;
}

base::Result<int> share_get(Application& app, const std::string& id, const std::string& target) {
  const sessions::Share share = TRY(app.store().find_share(app.principal_id(), id));
  const base::UniqueFd source = TRY(app.share().open_stored(share));
  const std::string content = TRY(base::read_all(source.get(), share::kShareBytesMax));
  if (target == "-") {
    TRY(base::write_all(STDOUT_FILENO, content));
    return 0;
  }
  const std::string name = target.empty() ? share.filename : target;
  // Never over a file that is there: the name came out of a sandbox.
  const base::UniqueFd file =
      TRY(base::open_file(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (::fchmod(file.get(), 0666 & ~app.settings().user_umask) != 0) {
    return base::Error::from_errno("fchmod " + name);
  }
  TRY(base::write_all(file.get(), content));
  std::cout << name << "\n";
  return 0;
}

}  // namespace tools::cli
