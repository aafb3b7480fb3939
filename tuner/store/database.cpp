// See database.h.
#include "tuner/store/database.h"

#include <sqlite3.h>

namespace kernelift::tuner {
namespace {

constexpr int kBusyMilliseconds = 5000;  ///< `report` may read while `tune` writes.

}  // namespace

Statement::~Statement() { sqlite3_finalize(statement_); }
Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}
Statement& Statement::bind(int index, int64_t value) {
  sqlite3_bind_int64(statement_, index, value);
  return *this;
}
Statement& Statement::bind(int index, double value) {
  sqlite3_bind_double(statement_, index, value);
  return *this;
}
int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string Statement::text(int column) const {
  auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, sqlite3_column_bytes(statement_, column)) : std::string();
}

Result<Database> Database::open(const std::filesystem::path& file, Mode mode) {
  int flags = mode == Mode::ReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::Create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database(handle, file, mode);
  if (code != SQLITE_OK) return database.failure("cannot open it");
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return database;
}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(file_, other.file_);
  std::swap(mode_, other.mode_);
  return *this;
}

Database::~Database() { sqlite3_close(handle_); }

Error Database::failure(const std::string& what) const {
  int code = handle_ ? sqlite3_errcode(handle_) : SQLITE_NOMEM;
  std::string advice;
  // The shared memory beside a WAL cannot grow on a full disk: SQLite calls that an I/O error.
  std::error_code ignored;
  constexpr uintmax_t kNoRoom = 64 << 10;
  if (code == SQLITE_IOERR &&
      std::filesystem::space(file_.parent_path().empty() ? "." : file_.parent_path(), ignored).available < kNoRoom)
    code = SQLITE_FULL;
  if (code == SQLITE_FULL)
    advice = std::string("; the disk is full: free some space and ") +
             (mode_ == Mode::Create ? "start again" : "continue with --resume, what was stored is safe");
  if (code == SQLITE_READONLY || code == SQLITE_CANTOPEN) advice = "; check that the folder can be written to";
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) advice = "; the file is damaged, nothing in it was changed";
  return environment_error(file_.string() + ": " + what + " (" + (handle_ ? sqlite3_errmsg(handle_) : "out of memory") +
                           ")" + advice);
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure("cannot store");
  return done();
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return failure("cannot read");
  return Statement(statement);
}

Status Database::run(Statement& statement, const std::function<void(const Statement&)>& row) {
  int code;
  while ((code = sqlite3_step(statement.statement_)) == SQLITE_ROW)
    if (row) row(statement);
  if (code != SQLITE_DONE) return failure("cannot read or store");
  return done();
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_); }

Status Database::transaction(const std::function<Status()>& work) {
  KERNELIFT_TRY(execute("BEGIN IMMEDIATE"));
  Status status = work();
  if (status.ok()) status = execute("COMMIT");
  if (!status.ok()) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

}  // namespace kernelift::tuner
