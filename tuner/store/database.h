// A thin wrapper of SQLite: prepared statements with typed binds, errors as Results with the file's name. It knows
// nothing of runs, and it is not thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kernelift::tuner {

class Statement {
 public:
  Statement(Statement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  ~Statement();
  Statement& bind(int index, std::string_view text);  ///< Copied. Indices count from 1, as in SQL.
  Statement& bind(int index, int64_t value);
  Statement& bind(int index, double value);

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  friend class Database;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* statement_;
};

class Database {
 public:
  enum class Mode { Create, ReadWrite, ReadOnly };
  static Result<Database> open(const std::filesystem::path& file, Mode mode);
  Database(Database&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), file_(std::move(other.file_)), mode_(other.mode_) {}
  Database& operator=(Database&& other) noexcept;
  ~Database();

  Status execute(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  /// Runs a statement to its end, calling `row` for each row.
  Status run(Statement& statement, const std::function<void(const Statement&)>& row = {});
  int64_t last_id() const;
  /// Stores all of `work` or nothing.
  Status transaction(const std::function<Status()>& work);

 private:
  Database(sqlite3* handle, std::filesystem::path file, Mode mode)
      : handle_(handle), file_(std::move(file)), mode_(mode) {}
  Error failure(const std::string& what) const;

  sqlite3* handle_ = nullptr;
  std::filesystem::path file_;
  Mode mode_ = Mode::ReadOnly;
};

}  // namespace kernelift::tuner
