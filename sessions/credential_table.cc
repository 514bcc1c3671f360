#include "sessions/credential_table.h"

#include <mutex>

#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

using base::Error;

namespace {

base::Result<StoredCredential> read_credential(Statement& row) {
  StoredCredential stored;
  stored.credential.name = row.text();
  stored.credential.host = TRY(sandbox::parse_network_rule(row.text()));
  TRY(sandbox::take_place(row.text(), stored.credential));
  stored.credential.allows_plain = row.integer() != 0;
  stored.source = row.text();
  stored.sealed = row.text();
  stored.updated_at = row.integer();
  return stored;
}

#define CREDENTIAL_COLUMNS \
  "name, host, place, allow_plain, source, sealed, updated_at FROM credentials "

Error no_such_credential(const std::string& name) {
  return base::error(Error::Kind::kNotFound, "there is no credential " + name +
                                                 "; hutch credential set makes it, and hutch "
                                                 "credential ls lists those there are");
}

}  // namespace

base::Status CredentialTable::put(const StoredCredential& credential) {
  const std::lock_guard lock(file_.mutex);
  Statement insert = TRY(file_.database->prepare(
      "INSERT OR REPLACE INTO credentials (name, host, place, allow_plain, source, sealed, "
      "updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(credential.credential.name)
      .bind(sandbox::text_of(credential.credential.host))
      .bind(sandbox::text_of_place(credential.credential))
      .bind(credential.credential.allows_plain)
      .bind(credential.source)
      .bind(credential.sealed)
      .bind(credential.updated_at);
  return insert.run();
}

base::Result<std::vector<StoredCredential>> CredentialTable::list() {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare("SELECT " CREDENTIAL_COLUMNS "ORDER BY name"));
  std::vector<StoredCredential> all;
  while (TRY(select.step())) all.push_back(TRY(read_credential(select)));
  return all;
}

base::Result<StoredCredential> CredentialTable::find(const std::string& name) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare("SELECT " CREDENTIAL_COLUMNS "WHERE name = ?"));
  select.bind(name);
  if (!TRY(select.step())) return no_such_credential(name);
  return read_credential(select);
}

base::Status CredentialTable::remove(const std::string& name) {
  const std::lock_guard lock(file_.mutex);
  Statement remove =
      TRY(file_.database->prepare("DELETE FROM credentials WHERE name = ? RETURNING name"));
  remove.bind(name);
  if (!TRY(remove.step())) return no_such_credential(name);
  return base::done();
}

}  // namespace sessions
