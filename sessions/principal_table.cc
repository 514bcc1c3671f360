#include "sessions/principal_table.h"

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

base::Result<std::optional<std::string>> PrincipalTable::named(const std::string& name) {
  Statement select = TRY(file_.database->prepare("SELECT id FROM principals WHERE name = ?"));
  select.bind(name);
  std::optional<std::string> id;
  if (TRY(select.step())) id = select.text();
  return id;
}

base::Result<std::string> PrincipalTable::ensure(const std::string& name) {
  const std::lock_guard lock(file_.mutex);
  // Asked for every request: whoever is known already costs no write.
  if (auto known = TRY(named(name))) return *known;
  {
    Statement insert = TRY(
        file_.database->prepare("INSERT INTO principals (id, name, created_at) VALUES (?, ?, ?) ON "
                                "CONFLICT (name) DO NOTHING"));
    TRY(insert.bind(base::random_id("principal_")).bind(name).bind(base::now_ms()).run());
  }
  const auto made = TRY(named(name));
  if (!made) return base::error(base::Error::Kind::kInternal, "a new principal is not there");
  return *made;
}

}  // namespace sessions
