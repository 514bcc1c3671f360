#include "sessions/sqlite.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace sessions {

using base::Error;

namespace {

constexpr std::chrono::milliseconds kBusyTimeout{10'000};
constexpr std::chrono::milliseconds kLogPatience{50};
// It is copied in memory, while nobody else may open it.
constexpr std::int64_t kCopiedBytesMax = 128LL << 20;
constexpr std::int64_t kIncremental = 2;  // PRAGMA auto_vacuum

Error::Kind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error::Kind::kUnavailable;
    case SQLITE_CONSTRAINT:
      return Error::Kind::kConflict;
    case SQLITE_FULL:
      return Error::Kind::kLimit;
    default:
      return Error::Kind::kInternal;
  }
}

const char* advice_for(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return " (the disk of the state directory is full)";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return " (is the state directory writable for this user?)";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return " (hutch.db is damaged: move it aside and hutch makes a new one; shared files stay)";
    default:
      return "";
  }
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      handle_(std::exchange(other.handle_, nullptr)),
      next_parameter_(other.next_parameter_),
      next_column_(other.next_column_) {}

Statement::~Statement() {
  // NOLINTNEXTLINE(clang-analyzer-core.*): it does not see what take() returns
  if (handle_ == nullptr) return;
  // Both repeat the error of the last step, which its caller has had already.
  (void)::sqlite3_reset(handle_);
  (void)::sqlite3_clear_bindings(handle_);
}

Statement& Statement::bind(std::string_view text) {
  (void)::sqlite3_bind_text64(handle_, next_parameter_++, text.data(), text.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  (void)::sqlite3_bind_int64(handle_, next_parameter_++, number);
  return *this;
}

Statement& Statement::bind_null() {
  (void)::sqlite3_bind_null(handle_, next_parameter_++);
  return *this;
}

base::Result<bool> Statement::step() {
  next_column_ = 0;
  const auto begun = std::chrono::steady_clock::now();
  const int code = ::sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) return database_.told(database_.failure("database"), begun);
  // A change in a transaction becomes true with its commit.
  const bool is_change = ::sqlite3_stmt_readonly(handle_) == 0;
  if (is_change && ::sqlite3_get_autocommit(database_.handle_) != 0) {
    database_.tell_of_change(begun);
  }
  return false;
}

base::Status Statement::run() {
  TRY(step());
  return base::done();
}

std::string Statement::text() { return optional_text().value_or(""); }

std::optional<std::string> Statement::optional_text() {
  const int column = next_column_++;
  const auto* bytes = reinterpret_cast<const char*>(::sqlite3_column_text(handle_, column));
  if (bytes == nullptr) return std::nullopt;
  return std::string(bytes, static_cast<std::size_t>(::sqlite3_column_bytes(handle_, column)));
}

std::int64_t Statement::integer() { return ::sqlite3_column_int64(handle_, next_column_++); }

std::optional<std::int64_t> Statement::optional_integer() {
  const int column = next_column_++;
  if (::sqlite3_column_type(handle_, column) == SQLITE_NULL) return std::nullopt;
  return ::sqlite3_column_int64(handle_, column);
}

base::Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = ::sqlite3_open_v2(
      path.c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
      nullptr);
  std::unique_ptr<Database> database(new Database(handle));
  if (code != SQLITE_OK) return database->failure(("open " + path).c_str());
  (void)::sqlite3_busy_timeout(handle, static_cast<int>(kBusyTimeout.count()));
  // NORMAL in WAL: a power cut may undo the newest transactions, never half of one. What is undone
  // is settled again from record.json.
  TRY(
      database->execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; "
                        "PRAGMA trusted_schema = OFF; PRAGMA secure_delete = ON;"));
  TRY(database->prepare_file());
  if (::chmod(path.c_str(), 0600) != 0) return Error::from_errno("chmod " + path);
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : cache_) (void)::sqlite3_finalize(statement);
  (void)::sqlite3_close(handle_);
}

base::Status Database::prepare_file() {
  const auto once = [this]() -> base::Status {
    // Before there is anything in it. One that is there would be written to, and not changed.
    if (TRY(number("PRAGMA page_count")) == 0) TRY(execute("PRAGMA auto_vacuum = INCREMENTAL"));
    return execute("PRAGMA journal_mode = WAL");
  };
  const auto give_up = std::chrono::steady_clock::now() + kBusyTimeout;
  while (true) {
    base::Status status = once();
    if (status.ok() || status.error().kind != Error::Kind::kUnavailable) return status;
    if (std::chrono::steady_clock::now() > give_up) return status;
    (void)::sqlite3_sleep(1);
  }
}

Error Database::failure(const char* what) const {
  const int code = handle_ != nullptr ? ::sqlite3_extended_errcode(handle_) : SQLITE_NOMEM;
  const char* text = handle_ != nullptr ? ::sqlite3_errmsg(handle_) : "out of memory";
  const int reason = code == SQLITE_NOMEM ? 0 : ::sqlite3_system_errno(handle_);
  const bool is_full = (code & 0xff) == SQLITE_FULL ||
                       ((code & 0xff) == SQLITE_IOERR && (reason == ENOSPC || reason == EDQUOT));
  const int shown = is_full ? SQLITE_FULL : code;
  return {kind_of(shown), is_full ? ENOSPC : 0,
          std::string(what) + ": " + text + advice_for(shown)};
}

Error Database::told(Error failure, std::chrono::steady_clock::time_point begun) const {
  const bool is_callers = failure.kind == Error::Kind::kConflict;
  if (observer_ && !is_callers) observer_(begun, &failure);
  return failure;
}

void Database::tell_of_change(std::chrono::steady_clock::time_point begun) const {
  if (observer_) observer_(begun, nullptr);
}

base::Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt*& statement = cache_[sql];
  if (statement == nullptr && ::sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                   &statement, nullptr) != SQLITE_OK) {
    return failure("database");
  }
  return Statement(*this, statement);
}

base::Status Database::execute(const std::string& sql) {
  const auto begun = std::chrono::steady_clock::now();
  if (::sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return told(failure("database"), begun);
  }
  return base::done();
}

std::int64_t Database::changed_rows() const { return ::sqlite3_changes64(handle_); }

base::Result<std::int64_t> Database::number(const char* pragma) {
  Statement statement = TRY(prepare(pragma));
  TRY(statement.step());
  return statement.integer();
}

bool Database::empty_log() {
  (void)::sqlite3_busy_timeout(handle_, static_cast<int>(kLogPatience.count()));
  const int code =
      ::sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  (void)::sqlite3_busy_timeout(handle_, static_cast<int>(kBusyTimeout.count()));
  return code == SQLITE_OK;
}

base::Result<bool> Database::is_shrinkable() {
  return TRY(number("PRAGMA auto_vacuum")) == kIncremental;
}

bool Database::make_shrinkable() {
  const auto bytes = [&]() -> base::Result<std::int64_t> {
    const std::int64_t pages = TRY(number("PRAGMA page_count"));
    const std::int64_t free = TRY(number("PRAGMA freelist_count"));
    return (pages - free) * TRY(number("PRAGMA page_size"));
  }();
  if (!bytes.ok() || bytes.value() > kCopiedBytesMax) return false;
  // Else the copy would lie in a directory of the host's that others use, and may be full.
  const bool done =
      execute("PRAGMA temp_store = MEMORY; PRAGMA auto_vacuum = INCREMENTAL; VACUUM").ok();
  (void)execute("PRAGMA temp_store = DEFAULT");
  if (done) (void)empty_log();
  return done;
}

base::Result<Transaction> Transaction::begin(Database& database) {
  TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

base::Status Transaction::commit() {
  const auto begun = std::chrono::steady_clock::now();
  TRY(database_->execute("COMMIT"));
  database_->tell_of_change(begun);
  database_ = nullptr;
  return base::done();
}

Transaction::~Transaction() {
  // A statement that failed may have rolled back already: then there is nothing to undo, and no
  // fault.
  const bool is_open = database_ != nullptr && ::sqlite3_get_autocommit(database_->handle_) == 0;
  if (is_open) (void)database_->execute("ROLLBACK");
}

}  // namespace sessions
