// SQLite by ownership: a Database closes itself, a Statement resets itself, a Transaction that is
// not committed never happened. The only face of <sqlite3.h>. https://sqlite.org/cintro.html
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sessions {

class Database;

// A Statement is a prepared statement, borrowed from the database's cache until it is destroyed.
// Parameters are bound in order; columns are read in order after step() said there is a row.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& bind(std::string_view text);
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind(std::int64_t number);
  Statement& bind(int number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(bool value) { return bind(static_cast<std::int64_t>(value ? 1 : 0)); }
  Statement& bind_null();
  template <typename T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }

  // Returns true when there is a row.
  base::Result<bool> step();
  // Runs a statement without rows.
  base::Status run();

  std::string text();
  std::int64_t integer();
  std::optional<std::string> optional_text();
  std::optional<std::int64_t> optional_integer();

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement)
      : database_(database), handle_(statement) {}

  Database& database_;
  sqlite3_stmt* handle_;
  int next_parameter_ = 1;
  int next_column_ = 0;
};

// A Database is one connection. It is not for several threads at once: Store holds a mutex around
// it.
class Database {
 public:
  // Creates the file (mode 0600) when it is not there; WAL, foreign keys, a busy timeout. What is
  // deleted is overwritten, and a new database gives free pages back (PRAGMA incremental_vacuum).
  static base::Result<std::unique_ptr<Database>> open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // It is told of each change that has become true, and of each statement that failed for another
  // reason than what it was given; and when that had begun, since it may have waited for long.
  using Observer =
      std::function<void(std::chrono::steady_clock::time_point begun, const base::Error* failure)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  base::Result<Statement> prepare(const char* sql);
  // Runs several statements without parameters.
  base::Status execute(const std::string& sql);
  [[nodiscard]] std::int64_t changed_rows() const;

  // Makes the write-ahead log an empty file; false when another process is in the way.
  [[nodiscard]] bool empty_log();
  // Makes a database of the time before it could give free pages back one that can: it is copied,
  // in memory. False when it is too large for that, or there is no room.
  bool make_shrinkable();
  [[nodiscard]] base::Result<bool> is_shrinkable();

 private:
  friend class Statement;
  friend class Transaction;
  explicit Database(sqlite3* handle) : handle_(handle) {}
  // The busy timeout does not hold here: of two connections that turn a new database into WAL at
  // once, SQLite refuses one without waiting, since both hold the lock that the other waits for.
  base::Status prepare_file();
  base::Result<std::int64_t> number(const char* pragma);
  [[nodiscard]] base::Error failure(const char* what) const;
  // It gives back what it was given, once the observer has heard of it.
  base::Error told(base::Error failure, std::chrono::steady_clock::time_point begun) const;
  void tell_of_change(std::chrono::steady_clock::time_point begun) const;

  sqlite3* handle_;
  Observer observer_;
  std::unordered_map<std::string, sqlite3_stmt*> cache_;
};

// A Transaction begins with BEGIN IMMEDIATE, and is rolled back unless commit() succeeded.
class Transaction {
 public:
  static base::Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) {
    other.database_ = nullptr;
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  base::Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace sessions
