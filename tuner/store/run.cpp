// See run.h. Schema (docs/formats.md):
//   meta(key, value)      RunMeta as one JSON document under "run", TunedKernel as one under "kernel", and proposers'
//                         state under "state/…"
//   source(hash, text)    each distinct source text once
//   candidate(…)          one row per verdict: candidate as JSON without its source, verdict as JSON, and the columns
//                         that a person queries by hand (outcome, tier, speedup)
//   parent(child, parent)
// application_id "KLRN", user_version = kRunVersion. The file is made complete under a temporary name, then gets its
// own.
#include "tuner/store/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/base/file.h"
#include "core/base/locks/lock.h"
#include "core/model/capture.h"
#include "core/model/kernel_key.h"
#include "tuner/store/database.h"

namespace kernelift::tuner {
namespace {

constexpr uint32_t kApplicationId = 0x4b4c524e;  // "KLRN"
constexpr int kOldestReadable = 1;
const char* const kSchema = R"(
  CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE source(hash TEXT PRIMARY KEY, text TEXT NOT NULL);
  CREATE TABLE candidate(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, tier TEXT NOT NULL, proposer TEXT NOT NULL,
    note TEXT NOT NULL, outcome TEXT NOT NULL, stage TEXT NOT NULL, speedup REAL, speedup_low REAL, seconds REAL,
    at REAL NOT NULL, source TEXT NOT NULL REFERENCES source(hash), recipe TEXT NOT NULL, candidate TEXT NOT NULL,
    verdict TEXT NOT NULL, confirmed TEXT);
  CREATE INDEX candidate_key ON candidate(key);
  CREATE TABLE parent(child INTEGER NOT NULL REFERENCES candidate(id), parent INTEGER NOT NULL);
)";

std::string now_utc() {
  std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

Json meta_to_json(const RunMeta& meta) {
  return {
      {"mep", meta.mep},         {"mep_hash", meta.mep_hash},           {"kernel", meta.kernel},
      {"device", meta.device},   {"kernelift", meta.kernelift},         {"seed", meta.seed},
      {"tiers", meta.tiers},     {"time_budget", meta.time_budget},     {"evaluation_budget", meta.evaluation_budget},
      {"started", meta.started}, {"seconds_spent", meta.seconds_spent}, {"tolerance", meta.tolerance}};
}

Result<RunMeta> meta_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    RunMeta meta;
    meta.mep = from.at("mep"), meta.mep_hash = from.at("mep_hash"), meta.kernel = from.at("kernel");
    meta.device = from.at("device"), meta.kernelift = from.at("kernelift"), meta.seed = from.at("seed");
    meta.tiers = from.at("tiers").get<std::vector<std::string>>(), meta.time_budget = from.at("time_budget");
    meta.evaluation_budget = from.at("evaluation_budget"), meta.started = from.at("started");
    meta.seconds_spent = from.at("seconds_spent"), meta.tolerance = from.value("tolerance", 0.0);
    return meta;
  });
}

Json kernel_to_json(const TunedKernel& kernel) {
  Json launches = Json::array();
  for (auto& launch : kernel.launches)
    launches.push_back({{"id", launch.id},
                        {"geometry", to_json(launch.geometry)},
                        {"held_out", launch.held_out},
                        {"weight", launch.weight},
                        {"microseconds", launch.microseconds}});
  return {{"place", kernel.place}, {"proof", kernel.proof}, {"launches", launches}, {"not_tried", kernel.not_tried}};
}

Result<TunedKernel> kernel_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    TunedKernel kernel;
    kernel.place = from.at("place"), kernel.proof = from.at("proof");
    for (auto& launch : from.at("launches"))
      kernel.launches.push_back({launch.at("id"), geometry_from_json(launch.at("geometry")), launch.at("held_out"),
                                 launch.at("weight"), launch.at("microseconds")});
    kernel.not_tried = from.at("not_tried").get<std::vector<std::string>>();
    return kernel;
  });
}

constexpr char kSqliteHead[16] = {'S', 'Q', 'L', 'i', 't', 'e', ' ', 'f', 'o', 'r', 'm', 'a', 't', ' ', '3', 0};

/// Checks a file's header before SQLite opens it. Bytes 60..63 and 68..71 are user_version and application_id.
Status check_header(const std::filesystem::path& file) {
  std::string name = file.string();
  std::error_code code;
  if (!std::filesystem::is_regular_file(file, code))
    return environment_error(name + ": no such run file; kernelift tune makes them, in the folder .kernelift/runs");
  unsigned char head[100] = {};
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return environment_error(name + ": cannot be read; check its permissions");
  ssize_t got = ::read(descriptor, head, sizeof head);
  ::close(descriptor);
  auto big_endian = [&](int at) {
    return uint32_t(head[at]) << 24 | uint32_t(head[at + 1]) << 16 | uint32_t(head[at + 2]) << 8 | head[at + 3];
  };
  if (got < 100 || std::string_view(reinterpret_cast<char*>(head), 16) != std::string_view(kSqliteHead, 16) ||
      big_endian(68) != kApplicationId)
    return environment_error(name +
                             ": is no run file of Kernelift (or its first bytes are damaged); nothing was changed");
  if (big_endian(60) > uint32_t(kRunVersion))
    return environment_error(name + ": was written by a newer Kernelift (run format " + std::to_string(big_endian(60)) +
                             ", this one reads up to " + std::to_string(kRunVersion) +
                             "); update Kernelift. Nothing was changed");
  if (big_endian(60) < uint32_t(kOldestReadable))
    return environment_error(name + ": has run format " + std::to_string(big_endian(60)) + ", too old to read");
  return done();
}

/// Creates the file of a new run without trials.
Status write_new(const std::filesystem::path& file, const RunMeta& meta) {
  KERNELIFT_ASSIGN(Database database, Database::open(file, Database::Mode::Create));
  KERNELIFT_TRY(database.execute("PRAGMA synchronous=FULL; PRAGMA application_id=" + std::to_string(kApplicationId) +
                                 "; PRAGMA user_version=" + std::to_string(kRunVersion) + ";" + kSchema));
  RunMeta started = meta;
  started.kernelift = KERNELIFT_VERSION;
  if (started.started.empty()) started.started = now_utc();
  KERNELIFT_ASSIGN(Statement insert, database.prepare("INSERT INTO meta VALUES('run', ?)"));
  insert.bind(1, compact(meta_to_json(started)));
  return database.run(insert);
}

/// Sets the format number of a file of an older format to this one.
Status raise_version(Database& database) {
  int64_t version = kRunVersion;
  {
    KERNELIFT_ASSIGN(Statement select, database.prepare("PRAGMA user_version"));
    KERNELIFT_TRY(database.run(select, [&](const Statement& row) { version = row.integer(0); }));
  }
  if (version >= kRunVersion) return done();
  // Written through to the file, whose first bytes are what check_header() reads.
  return database.execute("PRAGMA user_version=" + std::to_string(kRunVersion) + "; PRAGMA wal_checkpoint(TRUNCATE);");
}

/// Number of lines of either text that the other one does not contain.
size_t lines_apart(const std::string& one, const std::string& other) {
  std::map<std::string, int64_t> counts;
  std::string line;
  for (std::istringstream text(one); std::getline(text, line);) ++counts[line];
  for (std::istringstream text(other); std::getline(text, line);) --counts[line];
  size_t apart = 0;
  for (auto& [text, count] : counts) apart += static_cast<size_t>(std::abs(count));
  return apart;
}

}  // namespace

const RunTrial* shortest_patch(const RunTrial& best, const std::vector<const RunTrial*>& rivals,
                               const std::string& original) {
  const RunTrial* chosen = &best;
  size_t fewest = lines_apart(best.candidate.source, original);
  for (auto* rival : rivals) {
    const Verdict &figures = rival->figures(), &most = best.figures();
    // Not distinguishable: the middle of each interval is inside the other one.
    bool distinguishable =
        !figures.gains() || figures.speedup_high() < most.speedup() || figures.speedup() < most.speedup_low();
    if (distinguishable) continue;
    size_t lines = lines_apart(rival->candidate.source, original);
    if (lines < fewest) fewest = lines, chosen = rival;
  }
  return chosen;
}

struct Run::State {
  Database database;
  std::filesystem::path file;
  RunMeta meta;
  std::optional<Lock> lock;  ///< Held while tuning.

  State(Database opened, std::filesystem::path path) : database(std::move(opened)), file(std::move(path)) {}
};

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

Result<Run> Run::create(const std::filesystem::path& file, const RunMeta& meta) {
  std::error_code code;
  if (std::filesystem::exists(file, code))
    return usage_error(file.string() + ": exists already; continue it with --resume");
  std::filesystem::create_directories(file.parent_path(), code);
  if (code)
    return environment_error(file.parent_path().string() + ": cannot create the folder (" + code.message() +
                             "); choose a writable place with --state DIR");
  auto temporary = file;
  temporary += ".new-" + std::to_string(getpid());
  std::filesystem::remove(temporary, code);
  if (Status written = write_new(temporary, meta); !written.ok()) {
    for (auto* suffix : {"", "-journal"}) std::filesystem::remove(temporary.string() + suffix, code);
    return std::move(written).error();
  }
  // A link, because renaming would replace a run that another process created meanwhile. Not every file system has
  // links.
  int why = ::link(temporary.c_str(), file.c_str()) == 0 ? 0 : errno;
  if (why != 0 && why != EEXIST && ::rename(temporary.c_str(), file.c_str()) == 0) why = 0;
  std::filesystem::remove(temporary, code);
  if (why == EEXIST) return usage_error(file.string() + ": exists already; continue it with --resume");
  if (why != 0) return environment_error(file.string() + ": cannot be created (" + std::strerror(why) + ")");
  return attach(file, true);
}

Result<Run> Run::resume(const std::filesystem::path& file) { return attach(file, true); }
Result<Run> Run::open(const std::filesystem::path& file) { return attach(file, false); }

Result<Run> Run::attach(const std::filesystem::path& file, bool writable) {
  KERNELIFT_TRY(check_header(file));
  std::optional<Lock> lock;
  if (writable) {
    auto lock_file = file;
    lock_file += ".lock";
    auto taken = Lock::try_take(lock_file);
    if (!taken.ok())
      return environment_error(lock_file.string() + ": cannot be written; check the folder's permissions");
    if (!*taken)
      return environment_error(file.string() + ": another kernelift is tuning into it; wait for it or stop it");
    lock = std::move(*taken);
  }
  auto opened = writable ? Database::open(file, Database::Mode::ReadWrite) : Database::open_to_read(file);
  if (!opened.ok()) return std::move(opened).error();
  auto state = std::make_unique<State>(std::move(*opened), file);
  state->lock = std::move(lock);
  Database& database = state->database;
  std::string verdict = "unreadable";
  {
    KERNELIFT_ASSIGN(Statement check, database.prepare("PRAGMA integrity_check(1)"));
    KERNELIFT_TRY(database.run(check, [&](const Statement& row) { verdict = row.text(0); }));
  }
  if (verdict != "ok")
    return environment_error(file.string() + ": the run file is damaged (" + verdict +
                             "); nothing was changed. Keep it: `sqlite3 " + file.string() +
                             " .recover` can save most of it");
  if (writable) {
    KERNELIFT_TRY(database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
    KERNELIFT_TRY(raise_version(database));
  }
  std::string text;
  {
    KERNELIFT_ASSIGN(Statement select, database.prepare("SELECT value FROM meta WHERE key='run'"));
    KERNELIFT_TRY(database.run(select, [&](const Statement& row) { text = row.text(0); }));
  }
  KERNELIFT_ASSIGN(Json json, parse_json(text, file.string()));
  KERNELIFT_ASSIGN(state->meta, meta_from_json(json, file.string()));
  return Run(std::move(state));
}

namespace {

/// The number in "<name>-<n>.klrun", or 0.
int run_number(const std::filesystem::path& file, const std::string& name) {
  std::string text = file.filename().string();
  if (!text.starts_with(name + "-") || !text.ends_with(".klrun")) return 0;
  const char *begin = text.data() + name.size() + 1, *end = text.data() + text.size() - 6;
  int number = 0;
  auto [stop, code] = std::from_chars(begin, end, number);
  return code == std::errc() && stop == end ? number : 0;
}

/// Runs are named after their MEPs, and these after their kernels: smooth-1f0a93c2-3.klrun.
const std::regex& behind_name() {
  static const std::regex kRest("(-[0-9a-f]{8})?-[0-9]+$");
  return kRest;
}

int highest_run(const std::filesystem::path& state, const std::string& name) {
  int highest = 0;
  for (auto& path : paths_in(state / "runs")) highest = std::max(highest, run_number(path, name));
  return highest;
}

}  // namespace

std::filesystem::path Run::next_path(const std::filesystem::path& state, const std::string& name) {
  return state / "runs" / (name + "-" + std::to_string(highest_run(state, name) + 1) + ".klrun");
}

std::filesystem::path Run::latest_path(const std::filesystem::path& state, const std::string& name) {
  int highest = highest_run(state, name);
  return highest ? state / "runs" / (name + "-" + std::to_string(highest) + ".klrun") : std::filesystem::path();
}

std::vector<std::filesystem::path> Run::paths(const std::filesystem::path& state, const std::string& name) {
  std::map<int, std::filesystem::path, std::greater<>> numbered;
  for (auto& path : paths_in(state / "runs"))
    if (int number = run_number(path, name); number > 0) numbered.emplace(number, path);
  std::vector<std::filesystem::path> found;
  for (auto& [number, file] : numbered) found.push_back(file);
  return found;
}

std::vector<std::string> Run::names(const std::filesystem::path& state) {
  std::set<std::string> found;
  for (auto& path : paths_in(state / "runs")) {
    if (path.extension() != ".klrun") continue;
    found.insert(path.filename().string());
    found.insert(std::regex_replace(path.stem().string(), behind_name(), ""));
  }
  return {found.begin(), found.end()};
}

bool Run::is_one(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  char head[sizeof kSqliteHead] = {};
  return in.read(head, sizeof head) && std::equal(std::begin(head), std::end(head), kSqliteHead);
}

std::filesystem::path Run::last_written(const std::filesystem::path& state, const std::string& kernel) {
  std::string name = base_name(kernel);
  name.erase(0, name.rfind(':') + 1);
  auto is_of_kernel = [&](const std::string& stem) {
    return name.empty() || (stem.starts_with(name) && std::regex_match(stem.substr(name.size()), behind_name()));
  };
  std::filesystem::path last;
  std::filesystem::file_time_type when{};
  std::error_code code;
  for (auto& path : paths_in(state / "runs")) {
    if (path.extension() != ".klrun" || !is_of_kernel(path.stem().string())) continue;
    auto written = std::filesystem::last_write_time(path, code);
    if (last.empty() || written > when) last = path, when = written;
  }
  return last;
}

const RunMeta& Run::meta() const { return state_->meta; }
const std::filesystem::path& Run::file() const { return state_->file; }
std::filesystem::path Run::transcript_folder() const {
  auto folder = state_->file;
  return folder.replace_extension(".transcripts");
}

Result<int64_t> Run::record(const Candidate& candidate, const Verdict& verdict, const std::vector<int64_t>& parents,
                            double at) {
  Database& database = state_->database;
  int64_t id = 0;
  KERNELIFT_TRY(database.transaction([&]() -> Status {
    std::string hash = hash_text(candidate.source).hex();
    Json body = to_json(candidate);
    body.erase("source");
    KERNELIFT_ASSIGN(Statement source, database.prepare("INSERT OR IGNORE INTO source VALUES(?, ?)"));
    KERNELIFT_TRY(database.run(source.bind(1, hash).bind(2, candidate.source)));
    KERNELIFT_ASSIGN(Statement insert, database.prepare("INSERT INTO candidate(key, tier, proposer, note, outcome, "
                                                        "stage, speedup, speedup_low, seconds, at, source, recipe, "
                                                        "candidate, verdict) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
    insert.bind(1, candidate.key().hex()).bind(2, candidate.tier).bind(3, candidate.proposer).bind(4, candidate.note());
    insert.bind(5, name(verdict.outcome)).bind(6, name(verdict.stage)).bind(7, verdict.speedup());
    insert.bind(8, verdict.speedup_low()).bind(9, verdict.seconds()).bind(10, at).bind(11, hash);
    // Diagnostics can contain bytes that are not UTF-8; the database must store them, too.
    insert.bind(12, candidate.recipe.text()).bind(13, compact(body)).bind(14, compact(to_json(verdict)));
    KERNELIFT_TRY(database.run(insert));
    id = database.last_id();
    for (int64_t parent : parents) {
      KERNELIFT_ASSIGN(Statement link, database.prepare("INSERT INTO parent VALUES(?, ?)"));
      KERNELIFT_TRY(database.run(link.bind(1, id).bind(2, parent)));
    }
    return done();
  }));
  return id;
}

Status Run::record_confirmation(int64_t id, const Verdict& verdict) {
  KERNELIFT_ASSIGN(Statement update, state_->database.prepare("UPDATE candidate SET confirmed=? WHERE id=?"));
  return state_->database.run(update.bind(1, compact(to_json(verdict))).bind(2, id));
}

Status Run::record_time(double seconds_spent) {
  state_->meta.seconds_spent = seconds_spent;
  KERNELIFT_ASSIGN(Statement update, state_->database.prepare("UPDATE meta SET value=? WHERE key='run'"));
  return state_->database.run(update.bind(1, compact(meta_to_json(state_->meta))));
}

Status Run::record_kernel(const TunedKernel& kernel) {
  KERNELIFT_ASSIGN(Statement insert, state_->database.prepare("INSERT OR REPLACE INTO meta VALUES('kernel', ?)"));
  // Paths in it need not be UTF-8.
  return state_->database.run(insert.bind(1, compact(kernel_to_json(kernel))));
}

Result<std::optional<TunedKernel>> Run::kernel() const {
  std::string text, where = state_->file.string();
  KERNELIFT_ASSIGN(Statement select, state_->database.prepare("SELECT value FROM meta WHERE key='kernel'"));
  KERNELIFT_TRY(state_->database.run(select, [&](const Statement& row) { text = row.text(0); }));
  if (text.empty()) return std::optional<TunedKernel>();
  KERNELIFT_ASSIGN(Json json, parse_json(text, where));
  KERNELIFT_ASSIGN(TunedKernel kernel, kernel_from_json(json, where));
  return std::optional(std::move(kernel));
}

Status Run::put_state(const std::string& key, const std::string& value) {
  KERNELIFT_ASSIGN(Statement insert, state_->database.prepare("INSERT OR REPLACE INTO meta VALUES(?, ?)"));
  return state_->database.run(insert.bind(1, "state/" + key).bind(2, value));
}

Result<std::string> Run::get_state(const std::string& key) const {
  std::string value;
  KERNELIFT_ASSIGN(Statement select, state_->database.prepare("SELECT value FROM meta WHERE key=?"));
  KERNELIFT_TRY(
      state_->database.run(select.bind(1, "state/" + key), [&](const Statement& row) { value = row.text(0); }));
  return value;
}

Result<std::map<std::string, std::string>> Run::states() const {
  std::map<std::string, std::string> states;
  KERNELIFT_ASSIGN(Statement select,
                   state_->database.prepare("SELECT substr(key, 7), value FROM meta WHERE key LIKE 'state/%'"));
  KERNELIFT_TRY(state_->database.run(select, [&](const Statement& row) { states[row.text(0)] = row.text(1); }));
  return states;
}

Result<std::vector<RunTrial>> Run::history() const {
  Database& database = state_->database;
  std::string where = state_->file.string();
  std::vector<RunTrial> trials;
  Status status;
  KERNELIFT_ASSIGN(
      Statement select,
      database.prepare(
          "SELECT candidate.id, candidate.candidate, source.text, verdict, coalesce(confirmed, ''), at FROM candidate "
          "JOIN source ON source.hash = candidate.source ORDER BY candidate.id"));
  auto read = [&](const Statement& row) -> Status {
    RunTrial trial;
    trial.id = row.integer(0), trial.at = row.real(5);
    std::string place = where + ": candidate " + std::to_string(trial.id);
    KERNELIFT_ASSIGN(Json body, parse_json(row.text(1), place));
    body["source"] = row.text(2);
    KERNELIFT_ASSIGN(trial.candidate, candidate_from_json(body, place));
    KERNELIFT_ASSIGN(Json verdict, parse_json(row.text(3), place));
    KERNELIFT_ASSIGN(trial.verdict, verdict_from_json(verdict, place));
    if (!row.text(4).empty()) {
      KERNELIFT_ASSIGN(Json confirmed, parse_json(row.text(4), place));
      KERNELIFT_ASSIGN(trial.confirmed, verdict_from_json(confirmed, place));
    }
    trials.push_back(std::move(trial));
    return done();
  };
  KERNELIFT_TRY(database.run(select, [&](const Statement& row) {
    if (status.ok()) status = read(row);
  }));
  KERNELIFT_TRY(status);
  KERNELIFT_ASSIGN(Statement links, database.prepare("SELECT child, parent FROM parent ORDER BY child"));
  size_t at = 0;
  KERNELIFT_TRY(database.run(links, [&](const Statement& row) {
    while (at < trials.size() && trials[at].id < row.integer(0)) ++at;
    if (at < trials.size() && trials[at].id == row.integer(0)) trials[at].parents.push_back(row.integer(1));
  }));
  return trials;
}

Result<std::optional<RunTrial>> Run::baseline() const {
  KERNELIFT_ASSIGN(auto trials, history());
  for (auto& trial : trials)
    if (trial.candidate.tier == "baseline") return std::optional(trial);
  return std::optional<RunTrial>();
}

Result<std::optional<RunTrial>> Run::best(bool applicable_only) const {
  KERNELIFT_ASSIGN(auto trials, history());
  const RunTrial* best = best_of(trials, applicable_only);
  return best ? std::optional(*best) : std::nullopt;
}

}  // namespace kernelift::tuner
