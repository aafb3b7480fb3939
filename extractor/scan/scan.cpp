// Children send their findings as one JSON document down a pipe (the same format as scan.json, with one unit in it);
// kernels are named there by label (mangled name and file) and get their ids when all are merged.
#include "extractor/scan/scan.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "core/base/descriptor.h"
#include "core/base/hash.h"
#include "extractor/scan/call_finder.h"
#include "extractor/scan/knob_finder.h"
#include "extractor/scan/lost_kernels.h"
#include "extractor/scan/record_finder.h"
#include "extractor/scan/unit_cache.h"

namespace kernelift::extractor {
namespace {

namespace fs = std::filesystem;

std::string label_of(const ParsedUnit& unit, const clang::FunctionDecl* function) {
  const clang::FunctionDecl* definition = nullptr;
  std::string label = mangled_name(unit, function);
  if (!function->isDefined(definition)) return label;
  auto* pattern = definition->getTemplateInstantiationPattern();
  auto at = unit.place((pattern ? pattern : definition)->getLocation());
  return label + "@" + unit.path(at.file);
}

/// Everything found in one unit; the kernels' `id`s are their labels.
void scan_unit(const ParsedUnit& unit, ScanIndex& into) {
  SourceItems items(unit);
  auto kernels = find_kernels(unit, items);
  auto [launches, pointers, settings] = find_launches(unit, items);
  std::vector<KernelClosure> closures;
  for (size_t i = 0; i < kernels.size(); ++i) {
    closures.push_back({i, close_over(unit, items, kernels[i].function)});
    kernels[i].kernel.uses = features(unit, kernels[i].function, closures.back().closure);
    find_records(unit, kernels[i].function, closures.back().closure, kernels[i].kernel);
    kernels[i].kernel.id = label_of(unit, kernels[i].function);
  }
  auto label = [&](const clang::FunctionDecl* function) { return label_of(unit, function); };
  into.knobs = find_knobs(unit, items, kernels, closures, launches, label);
  for (auto& launch : launches) {
    for (auto* function : launch.kernels) launch.site.kernels.push_back(label(function));
    into.launches.push_back(launch.site);
  }
  into.calls = find_calls(unit, items, label);
  for (auto& pointer : pointers) into.pointers.push_back({{label(pointer.kernel)}, pointer.range});
  for (auto& setting : settings) into.settings.push_back({{label(setting.kernel)}, setting.range});
  for (auto& kernel : kernels) into.kernels.push_back(std::move(kernel.kernel));
}

ScannedUnit describe(const UnitCommand& unit) {
  ScannedUnit result;
  result.file = unit.file, result.folder = unit.folder, result.command = unit.argv;
  return result;
}

/// Ends this process when it has used its processor time, or when its parent is gone; without a core file either way.
void limit_child(unsigned seconds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit limit{};
  setrlimit(RLIMIT_CORE, &limit);
  if (getrlimit(RLIMIT_CPU, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, seconds);
  setrlimit(RLIMIT_CPU, &limit);
}

/// Everything that a child process does.
[[noreturn]] void run_child(const UnitCommand& unit, const Hash& identity, const ScanOptions& options,
                            const UnitCache& cache, int pipe) {
  limit_child(options.unit_seconds);
  ScanIndex found;
  found.units.push_back(describe(unit));
  auto& described = found.units.front();
  FileAnswers answers;
  std::string lost;
  auto read = [&](ParsedUnit& parsed) {
    scan_unit(parsed, found);
    lost = lost_kernels_text(lost_kernels(parsed, found.kernels));
  };
  auto outcome = parse_unit(unit, options.root.string(), read, options.headers, &answers);
  if (!outcome.ok()) {
    described.problems.push_back(outcome.error().message);
  } else {
    described.headers = outcome->headers == HeaderSet::Lean ? "lean" : "toolkit";
    described.problems = outcome->problems;
    if (outcome->errors > outcome->problems.size())
      described.problems.push_back("and " + std::to_string(outcome->errors - outcome->problems.size()) +
                                   " more errors");
    if (outcome->errors > 0 && !lost.empty()) described.problems.push_back(lost);
    cache.keep(identity, found, answers);
  }
  std::string text = compact(to_json(found));
  _exit(write_all(pipe, text) ? 0 : 1);
}

struct Child {
  size_t unit = 0;
  pid_t process = -1;
  int pipe = -1;
  std::string text;
};

/// A child's result: its findings, or the unit with its problem.
ScanIndex collect(Child& child, const UnitCommand& unit, unsigned seconds) {
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {}
  ScanIndex failed;
  failed.units.push_back(describe(unit));
  auto& problems = failed.units.front().problems;
  if (WIFSIGNALED(status)) {
    problems.push_back(WTERMSIG(status) == SIGXCPU
                           ? "the parser was still busy after " + std::to_string(seconds) +
                                 " s of processor time and was stopped"
                           : std::string("the parser crashed on it (") + strsignal(WTERMSIG(status)) + ")");
    return failed;
  }
  auto document = parse_json(child.text, unit.file);
  if (document.ok())
    if (auto index = scan_index_from_json(*document, unit.file); index.ok()) return std::move(index).value();
  problems.push_back("the parser ended without an answer (exit code " + std::to_string(WEXITSTATUS(status)) + ")");
  return failed;
}

/// An earlier scan's findings in this unit, if they are still valid. Its command may differ in words that mean nothing
/// to a parse.
std::optional<ScanIndex> known(const UnitCommand& unit, const Hash& identity, UnitCache& cache) {
  auto found = cache.find(identity);
  if (!found) return std::nullopt;
  ScannedUnit now = describe(unit);
  now.problems = std::move(found->units.front().problems), now.headers = std::move(found->units.front().headers);
  found->units = {std::move(now)};
  return found;
}

/// Decides when precompiling the headers pays: the first `jobs` units with the same header flags start at once, and the
/// headers are precompiled while they run if enough other units remain.
class HeadersAhead {
 public:
  HeadersAhead(const std::vector<UnitCommand>& units, size_t jobs) : jobs_(jobs) {
    for (auto& unit : units) ++kinds_[header_flags(unit)].left;
  }
  /// To be called before `unit` is started. `parsed`: the unit has to be parsed, since the cache does not have it.
  void next(const UnitCommand& unit, bool parsed) {
    auto& kind = kinds_[header_flags(unit)];
    if (parsed && ++kind.begun == jobs_ + 1 && kind.left >= 2 * jobs_) read_headers_ahead(unit);
    --kind.left;
  }

 private:
  struct Kind {
    size_t left = 0, begun = 0;
  };
  size_t jobs_;
  std::map<std::string, Kind> kinds_;
};

/// Parses the units that the cache does not have, `jobs` at a time; results in the units' order.
std::vector<ScanIndex> scan_units(const std::vector<UnitCommand>& units, const ScanOptions& options) {
  UnitCache cache(options.cache);
  size_t jobs = options.jobs > 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  std::vector<ScanIndex> results(units.size());
  std::vector<Child> running;
  HeadersAhead headers(units, jobs);
  size_t next = 0, finished = 0;
  while (next < units.size() || !running.empty()) {
    while (running.size() < jobs && next < units.size()) {
      const Hash identity = parse_identity(units[next], options.root.string(), options.headers);
      auto found = known(units[next], identity, cache);
      headers.next(units[next], !found);
      if (found) {
        results[next++] = *std::move(found), ++finished;
        if (options.reused) ++*options.reused;
        continue;
      }
      int ends[2];
      Child child;
      child.unit = next;
      const bool has_pipe = pipe(ends) == 0;
      if (!has_pipe || (child.process = fork()) < 0) {
        if (int reason = errno; has_pipe) close(ends[0]), close(ends[1]), errno = reason;
        results[next] = {};
        results[next].units.push_back(describe(units[next]));
        results[next].units.front().problems.push_back(std::string("no process could be started: ") +
                                                       std::strerror(errno));
        ++next, ++finished;
        continue;
      }
      if (child.process == 0) {
        close(ends[0]);
        run_child(units[next], identity, options, cache, ends[1]);
      }
      close(ends[1]);
      child.pipe = ends[0];
      running.push_back(std::move(child));
      ++next;
    }
    std::vector<pollfd> waiting;
    for (auto& child : running) waiting.push_back({child.pipe, POLLIN, 0});
    if (waiting.empty() || poll(waiting.data(), waiting.size(), -1) < 0) continue;
    for (size_t i = waiting.size(); i-- > 0;) {
      if (!waiting[i].revents) continue;
      char buffer[1 << 16];
      ssize_t got = read(running[i].pipe, buffer, sizeof buffer);
      if (got > 0) running[i].text.append(buffer, static_cast<size_t>(got));
      if (got > 0 || (got < 0 && errno == EINTR)) continue;
      close(running[i].pipe);
      results[running[i].unit] = collect(running[i], units[running[i].unit], options.unit_seconds);
      if (options.progress) options.progress(units[running[i].unit].file, ++finished, units.size());
      running.erase(running.begin() + static_cast<long>(i));
    }
  }
  cache.shrink();
  return results;
}

/// Merges the units' findings.
class Merger {
 public:
  explicit Merger(ScanIndex& index) : index_(index) {}

  void add(ScanIndex&& found) {
    for (auto& unit : found.units) add_unit(std::move(unit), !found.kernels.empty());
    std::set<std::string> launched;
    for (auto& site : found.launches) launched.insert(site.kernels.begin(), site.kernels.end());
    for (auto& kernel : found.kernels) {
      auto [at, fresh] = by_label_.try_emplace(kernel.id, index_.kernels.size());
      bool launches = launched.count(kernel.id) > 0;
      if (fresh) index_.kernels.push_back(std::move(kernel)), launched_.push_back(launches);
      else if (launches && !launched_[at->second])
        // A header's kernel is attributed to the unit that launches it.
        index_.kernels[at->second].tu = kernel.tu, launched_[at->second] = true;
    }
    for (auto& site : found.launches) {
      auto [at, fresh] = sites_.try_emplace({site.range.file, site.range.begin}, index_.launches.size());
      if (fresh) index_.launches.push_back(std::move(site));
      else unite(index_.launches[at->second].kernels, site.kernels);
    }
    std::move(found.calls.begin(), found.calls.end(), std::back_inserter(index_.calls));
    add_mentions(found.pointers, pointers_, index_.pointers), add_mentions(found.settings, settings_, index_.settings);
    for (auto& knob : found.knobs) {
      auto [at, fresh] = knobs_.try_emplace({knob.value_range.file, knob.value_range.begin, knob.name, knob.value},
                                            index_.knobs.size());
      if (fresh) {
        index_.knobs.push_back(std::move(knob));
        continue;
      }
      auto& known = index_.knobs[at->second];
      known.in_kernel |= knob.in_kernel, known.in_geometry |= knob.in_geometry, known.grows_only |= knob.grows_only;
      unite(known.kernels, knob.kernels);
    }
  }

  /// Labels become ids: short, and the same in every checkout of the application.
  void finish(const fs::path& root) {
    std::map<std::string, std::vector<std::string>> ids;
    std::set<std::string> taken;
    for (auto& kernel : index_.kernels) {
      std::string label = kernel.id, unit = fs::path(kernel.tu).lexically_relative(root).string();
      for (int salt = 0;; ++salt) {
        kernel.id = hash_text(kernel.key + "\n" + unit + (salt ? std::to_string(salt) : "")).hex().substr(0, 8);
        if (taken.insert(kernel.id).second) break;
      }
      ids[label].push_back(kernel.id);
      ids[label.substr(0, label.find('@'))].push_back(kernel.id);
    }
    auto resolve = [&](std::vector<std::string>& labels) {
      std::vector<std::string> all;
      for (auto& label : labels)
        // A kernel that the launching unit only declares has a label without a file.
        if (auto found = ids.find(label); found != ids.end()) unite(all, found->second);
      labels = all;
    };
    for (auto& site : index_.launches) resolve(site.kernels);
    for (auto* mentions : {&index_.pointers, &index_.settings})
      for (auto& one : *mentions) resolve(one.kernels);
    for (auto& knob : index_.knobs) resolve(knob.kernels);
    std::erase_if(index_.knobs, [](const Knob& knob) { return knob.kernels.empty(); });
  }

 private:
  using Places = std::map<std::pair<std::string, uint64_t>, size_t>;
  static void add_mentions(std::vector<KernelPointer>& found, Places& places, std::vector<KernelPointer>& all) {
    for (auto& one : found) {
      auto [at, fresh] = places.try_emplace({one.range.file, one.range.begin}, all.size());
      if (fresh) all.push_back(std::move(one));
      else unite(all[at->second].kernels, one.kernels);
    }
  }
  /// A file may be compiled twice, with different flags. A kernel's unit is looked up by its file, and the first match
  /// is used, so a unit in which kernels were found is placed before one without.
  void add_unit(ScannedUnit&& unit, bool has_kernels) {
    size_t at = index_.units.size();
    if (has_kernels)
      for (size_t i = 0; i < index_.units.size() && at == index_.units.size(); ++i)
        if (index_.units[i].file == unit.file && !has_kernels_[i]) at = i;
    index_.units.insert(index_.units.begin() + static_cast<ptrdiff_t>(at), std::move(unit));
    has_kernels_.insert(has_kernels_.begin() + static_cast<ptrdiff_t>(at), has_kernels);
  }
  static void unite(std::vector<std::string>& into, const std::vector<std::string>& more) {
    for (auto& one : more)
      if (std::find(into.begin(), into.end(), one) == into.end()) into.push_back(one);
  }
  ScanIndex& index_;
  std::map<std::string, size_t> by_label_;
  std::vector<bool> launched_, has_kernels_;
  Places sites_, pointers_, settings_;
  std::map<std::tuple<std::string, uint64_t, std::string, int64_t>, size_t> knobs_;
};

}  // namespace

Result<ScanIndex> scan_application(const ScanOptions& given) {
  ScanOptions options = given;
  std::error_code ignored;
  options.root = fs::weakly_canonical(fs::absolute(options.root.empty() ? "." : options.root, ignored), ignored);
  if (options.compile_database.empty()) {
    KERNELIFT_ASSIGN(options.compile_database, find_compile_database("", options.root));
  }
  KERNELIFT_ASSIGN(auto database, read_compile_database(options.compile_database));
  ScanIndex index;
  index.root = options.root.string(), index.database = fs::weakly_canonical(options.compile_database, ignored).string();
  bool all_hip = std::all_of(database.units.begin(), database.units.end(), [](auto& unit) { return unit.hip; });
  index.language = all_hip ? "hip" : "cuda";
  Merger merger(index);
  for (auto& found : scan_units(database.units, options)) merger.add(std::move(found));
  merger.finish(options.root);
  follow_callers(index);
  for (auto& file : database.missing) {
    ScannedUnit unit;
    unit.file = file;
    unit.problems = {"the file does not exist any more; rebuild the application to refresh the compile database"};
    index.units.push_back(std::move(unit));
  }
  for (auto& problem : database.problems) {
    ScannedUnit unit;
    unit.file = options.compile_database.string();
    unit.problems = {problem};
    index.units.push_back(std::move(unit));
  }
  return index;
}

}  // namespace kernelift::extractor
