// kernelift scan: finds the kernels, launch sites and knobs of an application; prints them as a table by file and
// writes scan.json to the state folder.
#include <algorithm>
#include <chrono>
#include <map>

#include "cli/verbs.h"
#include "core/base/artefact.h"
#include "core/base/file.h"
#include "core/base/shown/outside_text.h"
#include "core/base/within.h"
#include "core/model/kernel_key.h"
#include "extractor/scan/scan.h"
#include "extractor/source/compile_database.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLines = std::chrono::seconds(15);

struct Options {
  std::string database, app;
  int jobs = 0;
  bool all = false;
};

/// A cell of the table.
std::string padded(const std::string& outside, size_t width) {
  std::string text = shown_line(outside, kLongestName);
  if (text.size() < width) text.resize(width, ' ');
  return text + "  ";
}

/// Shortens a long name in its middle, because instances of a template may differ at either end.
std::string shortened(const std::string& name) {
  constexpr size_t kWidth = 72;
  if (name.size() <= kWidth) return name;
  return name.substr(0, kWidth / 2) + "…" + name.substr(name.size() - kWidth / 2 + 1);
}

bool has_any(const std::vector<std::string>& ids, const std::vector<const ScannedKernel*>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](auto* kernel) { return std::find(ids.begin(), ids.end(), kernel->id) != ids.end(); });
}

/// "BLOCK=256*, kRows=4, +3 more": the knobs of one kernel, or of any instance of a template.
std::string knobs_of(const ScanIndex& index, const std::vector<const ScannedKernel*>& kernels, bool all) {
  constexpr size_t kShown = 4;
  std::string text;
  size_t count = 0;
  for (auto& knob : index.knobs) {
    if (!has_any(knob.kernels, kernels) || (++count > kShown && !all)) continue;
    text += (text.empty() ? "" : ", ") + knob.name + "=" + std::to_string(knob.value);
    if (knob.in_geometry) text += knob.in_kernel ? "*" : "+";
  }
  if (count > kShown && !all) text += ", +" + std::to_string(count - kShown) + " more";
  return text;
}

/// One line of the table: a kernel, or all instances of a template that has too many to list them one by one.
struct Row {
  std::vector<const ScannedKernel*> kernels;
  std::string name;
};

std::vector<Row> rows_of(std::vector<const ScannedKernel*> kernels, bool all) {
  constexpr size_t kMostInstances = 4;
  auto place = [](auto* kernel) { return std::pair(kernel->definition.begin, std::string_view(kernel->name)); };
  std::sort(kernels.begin(), kernels.end(), [&](auto* a, auto* b) { return place(a) < place(b); });
  std::vector<Row> rows;
  for (auto begin = kernels.begin(); begin != kernels.end();) {
    auto end = std::find_if(begin, kernels.end(),
                            [&](auto* one) { return one->definition.begin != (*begin)->definition.begin; });
    if (!all && (*begin)->is_template && static_cast<size_t>(end - begin) > kMostInstances) {
      rows.push_back({{begin, end}, base_name((*begin)->key) + "<...> x " + std::to_string(end - begin)});
    } else {
      for (auto one = begin; one != end; ++one) {
        bool overloaded = std::any_of(kernels.begin(), kernels.end(),
                                      [&](auto* other) { return other != *one && other->name == (*one)->name; });
        rows.push_back({{*one}, overloaded ? (*one)->key : (*one)->name});
      }
    }
    begin = end;
  }
  return rows;
}

/// The number of launch sites that may launch one of the row's kernels; launches through a pointer or a wrapper are not
/// found.
std::string launches_of(const ScanIndex& index, const Row& row) {
  auto count = std::count_if(index.launches.begin(), index.launches.end(),
                             [&](auto& site) { return has_any(site.kernels, row.kernels); });
  return count ? std::to_string(count) : "?";
}

std::string table(const ScanIndex& index, bool all) {
  constexpr size_t kNameWidth = 48;
  std::map<std::string, std::vector<const ScannedKernel*>> by_file;
  for (auto& kernel : index.kernels) by_file[relative_to(kernel.definition.file, index.root)].push_back(&kernel);
  std::map<std::string, std::vector<Row>> rows;
  size_t name_width = 6;
  for (auto& [file, kernels] : by_file)
    for (auto& row : rows[file] = rows_of(kernels, all))
      name_width = std::max(name_width, std::min(row.name.size(), kNameWidth));
  std::string text;
  bool unseen = false;
  for (auto& [file, of_file] : rows) {
    text += shown_line(file) + "\n  " + padded("line", 5) + padded("id", 8) + padded("kernel", name_width) +
            padded("launches", 8) + "knobs\n";
    for (auto& row : of_file) {
      std::string launches = launches_of(index, row);
      unseen |= launches == "?";
      text += "  " + padded(std::to_string(row.kernels[0]->definition.line), 5) +
              padded(row.kernels.size() == 1 ? row.kernels[0]->id : "", 8) +
              padded(all ? row.name : shortened(row.name), name_width) + padded(launches, 8) +
              shown_line(knobs_of(index, row.kernels, all), kLongestName) + "\n";
    }
  }
  if (unseen) text += "?: no launch site was found; the kernel may be launched through a pointer or a wrapper.\n";
  return text;
}

Result<Exit> scan(const Options& options, const Context& context) {
  extractor::ScanOptions how;
  fs::path state = context.state_folder();
  how.root = !options.app.empty()    ? fs::absolute(options.app)
             : context.state.empty() ? state.parent_path()
                                     : fs::current_path();
  if (!options.app.empty() && context.state.empty()) state = find_state_folder(how.root);
  if (!fs::is_directory(how.root)) return usage_error("there is no folder " + how.root.string() + " to scan");
  // The compile commands that `build` logged in this state folder take precedence over files of the application.
  std::string database = options.database;
  if (fs::path logged = state / "compile_commands.json"; database.empty() && fs::is_regular_file(logged))
    database = logged.string();
  KERNELIFT_ASSIGN(how.compile_database, extractor::find_compile_database(database, how.root));
  how.jobs = options.jobs;
  // The result is printed even if it cannot be saved; the exit code then shows that later steps cannot use it.
  Status saved = create_state_folder(state);
  if (saved.ok()) how.cache = state / "scan";
  // A terminal gets one progress line that is updated in place and removed at the end; a log gets a line every 15 s, or
  // one for each unit with -v.
  const bool live = context.verbosity == 0 && context.terminal();
  size_t reused = 0;
  how.reused = &reused;
  auto said = Clock::now();
  how.progress = [&](const std::string& file, size_t done, size_t total) {
    std::string line = "[" + std::to_string(done) + "/" + std::to_string(total) + "] ";
    if (live) {
      context.progress(line + relative_to(file, how.root));
    } else if (context.verbosity > 0 || Clock::now() - said > kBetweenLines) {
      context.note(line + relative_to(file, how.root));
      said = Clock::now();
    }
  };
  auto scanned = scan_application(how);
  if (live) context.progress("");
  KERNELIFT_ASSIGN(ScanIndex index, std::move(scanned));

  size_t broken = 0;
  for (auto& unit : index.units) {
    if (unit.problems.empty()) continue;
    ++broken;
    std::string lost = unit.problems.size() > 1 ? "; " + unit.problems.back() : "";
    context.note("warning: " + relative_to(unit.file, index.root) +
                 " could not be parsed completely: " + unit.problems.front() + lost);
  }
  if (saved.ok()) saved = index.write(state / "scan.json");
  if (!saved.ok()) context.note("kernelift scan: the scan is not saved: " + saved.error().message);
  const Exit exit = saved.ok() ? Exit::Done : saved.error().exit;
  if (context.json) {
    context.emit(with_checksum(to_json(index)));  // Complete, as scan.json is.
    return exit;
  }
  context.say_lines(table(index, options.all));
  context.say(counted(index.kernels.size(), "kernel") + ", " + counted(index.launches.size(), "launch site") + ", " +
              counted(index.knobs.size(), "knob") + " in " + counted(index.units.size(), "unit") +
              (broken ? ", " + std::to_string(broken) + " of them parsed incompletely" : "") +
              (reused ? ", " + std::to_string(reused) + " of them unchanged since an earlier scan" : "") +
              ".  Knobs: * used by kernel and launch, + by the launch only.");
  return exit;
}

}  // namespace

const Verb kScan = {
    "scan", "Find the application's kernels, launch sites and knobs",
    "kernelift scan                     # after kernelift build; or: kernelift scan -p build, for "
    "build/compile_commands.json",
    [](CLI::App& app) -> Action {
      auto options = std::make_shared<Options>();
      app.add_option("-p", options->database, "compile_commands.json, or the build folder that contains it");
      app.add_option(
          "--app", options->app,
          "The application's root (default: this folder, or the nearest one above with a .kernelift folder)");
      app.add_option("-j,--jobs", options->jobs, "Number of units parsed at once (default: one per core)");
      app.add_flag("--all", options->all, "List every instance of a template, every knob, and names in full length");
      return [options](const Context& context) { return scan(*options, context); };
    },
    true};

}  // namespace kernelift::cli
