#include "sessions/store.h"

#include <utility>

#include "sessions/audit_table.h"
#include "sessions/credential_table.h"
#include "sessions/file_table.h"
#include "sessions/network_table.h"
#include "sessions/past_table.h"
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/sealing_key_table.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/share_table.h"
#include "sessions/spare_table.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"
#include "sessions/token_table.h"
#include "sessions/upkeep_table.h"

namespace sessions {

namespace {

// A server that was told to end may take this long.
constexpr std::chrono::seconds kMigrationPatience{10};

}  // namespace

struct Store::Parts {
  Parts(std::unique_ptr<Database> database, base::UniqueFd schema_lock)
      : file(std::move(database), std::move(schema_lock)) {}

  StoreFile file;
  PrincipalTable principals{file};
  TokenTable tokens{file};
  CredentialTable credentials{file};
  SealingKeyTable sealing_keys{file};
  SessionTable sessions{file};
  SessionLists session_lists{file};
  SpareTable spares{file};
  RunTable runs{file};
  FileTable files{file};
  ShareTable shares{file};
  AuditTable audit{file};
  NetworkTable network{file};
  UpkeepTable upkeep{file};
  PastTable past{file, runs, files};
};

base::Result<std::unique_ptr<Store>> Store::open(const std::string& path,
                                                 const MigrationProgress& progress) {
  auto database = TRY(Database::open(path));
  auto schema_lock =
      TRY(migrate_alone(*database, path, migrations(), kMigrationPatience, progress));
  auto parts = std::make_unique<Parts>(std::move(database), std::move(schema_lock));
  return std::unique_ptr<Store>(new Store(std::move(parts)));
}

Store::Store(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)),
      principals(parts_->principals),
      tokens(parts_->tokens),
      credentials(parts_->credentials),
      sealing_keys(parts_->sealing_keys),
      sessions(parts_->sessions),
      session_lists(parts_->session_lists),
      spares(parts_->spares),
      runs(parts_->runs),
      files(parts_->files),
      shares(parts_->shares),
      audit(parts_->audit),
      network(parts_->network),
      upkeep(parts_->upkeep),
      past(parts_->past) {}

Store::~Store() = default;

void Store::watch(OnAttempt on_attempt, Notify notify) {
  parts_->file.database->observe(std::move(on_attempt));
  parts_->file.notify = std::move(notify);
}

}  // namespace sessions
