// kernelift scan: the kernels, launch sites and knobs of an application, as a table by file, and scan.json in the state
// folder.
#include <algorithm>
#include <iostream>
#include <map>

#include "cli/verbs.h"
#include "core/base/file.h"
#include "extractor/scan/scan.h"
#include "extractor/source/compile_database.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kProgressWidth = 60;  // Of a file's name, so that the line does not wrap.

struct Options {
  std::string database, app;
  int jobs = 0;
};

std::string relative_to(const std::string& file, const std::string& root) {
  fs::path relative = fs::path(file).lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? file : relative.string();
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text + "  ";
}

/// "BLOCK=256 (kernel, launch)": what can be turned for one kernel.
std::string knobs_of(const ScanIndex& index, const ScannedKernel& kernel) {
  std::string text;
  for (auto& knob : index.knobs) {
    if (std::find(knob.kernels.begin(), knob.kernels.end(), kernel.id) == knob.kernels.end()) continue;
    text += (text.empty() ? "" : ", ") + knob.name + "=" + std::to_string(knob.value);
    if (knob.in_geometry) text += knob.in_kernel ? "*" : "+";
  }
  return text;
}

std::string table(const ScanIndex& index) {
  std::map<std::string, std::vector<const ScannedKernel*>> by_file;
  size_t name_width = 6;
  for (auto& kernel : index.kernels) {
    by_file[relative_to(kernel.definition.file, index.root)].push_back(&kernel);
    name_width = std::max(name_width, std::min<size_t>(kernel.name.size(), 48));
  }
  std::string text;
  for (auto& [file, kernels] : by_file) {
    std::sort(kernels.begin(), kernels.end(),
              [](auto* a, auto* b) { return a->definition.begin < b->definition.begin; });
    text += file + "\n  " + padded("line", 5) + padded("id", 8) + padded("kernel", name_width) + padded("launches", 8) +
            "knobs\n";
    for (auto* kernel : kernels) {
      auto launches = std::count_if(index.launches.begin(), index.launches.end(), [&](auto& site) {
        return std::find(site.kernels.begin(), site.kernels.end(), kernel->id) != site.kernels.end();
      });
      text += "  " + padded(std::to_string(kernel->definition.line), 5) + padded(kernel->id, 8) +
              padded(kernel->name, name_width) + padded(std::to_string(launches), 8) + knobs_of(index, *kernel) + "\n";
    }
  }
  return text;
}

Result<Exit> scan(const Options& options, const Context& context) {
  ScanOptions how;
  fs::path state = context.state_folder();
  how.root = !options.app.empty()    ? fs::absolute(options.app)
             : context.state.empty() ? state.parent_path()
                                     : fs::current_path();
  if (!options.app.empty() && context.state.empty()) state = find_state_folder(how.root);
  if (!fs::is_directory(how.root)) return usage_error("there is no folder " + how.root.string() + " to scan");
  // What `build` logged in this state folder comes before whatever lies in the application.
  std::string database = options.database;
  if (fs::path logged = state / "compile_commands.json"; database.empty() && fs::is_regular_file(logged)) database = logged.string();
  KERNELIFT_ASSIGN(how.compile_database, find_compile_database(database, how.root));
  how.jobs = options.jobs;
  // A log gets a line a unit if it asks for them; on a terminal one line says how far it is, and goes away.
  const bool live = context.verbosity == 0 && context.terminal();
  how.progress = [&](const std::string& file, size_t done, size_t total) {
    std::string line = "[" + std::to_string(done) + "/" + std::to_string(total) + "] ";
    if (context.verbosity > 0) context.note(line + file);
    else if (live) std::cerr << "\r" << line << relative_to(file, how.root).substr(0, kProgressWidth) << "\x1b[K" << std::flush;
  };
  auto scanned = scan_application(how);
  if (live) std::cerr << "\r\x1b[K" << std::flush;
  KERNELIFT_ASSIGN(ScanIndex index, std::move(scanned));

  size_t broken = 0;
  for (auto& unit : index.units) {
    if (unit.problems.empty()) continue;
    ++broken;
    context.note("warning: " + relative_to(unit.file, index.root) +
                 " was not understood in full: " + unit.problems.front());
  }
  // What was found is shown even where it cannot be kept; but no later step can work without it.
  Status saved = create_state_folder(state);
  if (saved.ok()) saved = index.write(state / "scan.json");
  if (!saved.ok()) context.note("kernelift scan: the scan is not saved: " + saved.error().message);
  const Exit exit = saved.ok() ? Exit::Done : saved.error().exit;
  if (context.json) {
    context.emit(to_json(index));
    return exit;
  }
  context.say(table(index));
  context.say(counted(index.kernels.size(), "kernel") + ", " + counted(index.launches.size(), "launch site") + ", " +
              counted(index.knobs.size(), "knob") + " in " + counted(index.units.size(), "unit") +
              (broken ? ", " + std::to_string(broken) + " of them understood in part" : "") +
              ".  Knobs: * feeds kernel and launch, + the launch only.");
  return exit;
}

}  // namespace

const Verb kScan = {
    "scan", "Find the application's kernels, launch sites and knobs", "kernelift scan -p build --app .",
    [](CLI::App& app) -> Action {
      auto options = std::make_shared<Options>();
      app.add_option("-p", options->database, "compile_commands.json, or the build folder that holds it");
      app.add_option("--app", options->app, "The application's root (default: here, or upwards where .kernelift/ is)");
      app.add_option("-j,--jobs", options->jobs, "Units parsed at once (default: one per core)");
      return [options](const Context& context) { return scan(*options, context); };
    }, true};

}  // namespace kernelift::cli
