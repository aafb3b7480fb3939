// kernelift report RUN -o FILE.html: writes one HTML page about a run, or about all kernels of an `optimize`.
#include <map>

#include "cli/loop/loop_report.h"
#include "cli/report/loop_page.h"
#include "cli/report/run_report.h"
#include "cli/verbs.h"
#include "core/base/file.h"
#include "reintegrate/apply_request.h"
#include "tuner/store/run.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

struct Options {
  std::string run, output;
  bool optimize = false;
};

/// The page about the last `optimize` of the state folder, with all runs that can be read.
Result<Exit> report_on_optimize(const Context& context, const Options& options) {
  const fs::path file = loop_report_file(context.state_folder());
  std::error_code code;
  if (!fs::exists(file, code)) return usage_error("there is no " + file.string() + "; `kernelift optimize` writes it");
  KERNELIFT_ASSIGN(Json document, read_json(file));
  KERNELIFT_ASSIGN(LoopReport report, loop_report_from_json(document, file.string()));
  std::map<std::string, ReportData> runs;
  for (auto& row : report.rows) {
    if (row.run.empty()) continue;
    auto data = gather_report(row.run);
    if (data.ok()) runs.emplace(row.run, *std::move(data));
    else context.note(row.run + ": " + data.error().message);
  }
  KERNELIFT_TRY(context.deliver(options.output, loop_page(report, runs)));
  if (options.output == "-") return Exit::Done;
  context.say("Report in " + fs::absolute(options.output).string());
  context.emit({{"report", fs::absolute(options.output).string()}, {"runs", runs.size()}});
  return Exit::Done;
}

Result<Exit> report(const Context& context, const Options& options) {
  if (options.optimize && !options.run.empty())
    return usage_error("--optimize is about all runs of the last optimize: name no run");
  if (options.optimize) return report_on_optimize(context, options);
  fs::path run = options.run, state = context.state_folder();
  if (run.empty()) run = tuner::Run::last_written(state);
  else {
    KERNELIFT_ASSIGN(run, reintegrate::find_run(run, state));
  }
  if (run.empty())
    return usage_error("there is no run under " + (state / "runs").string() + "; create one with: kernelift tune MEP");
  KERNELIFT_ASSIGN(ReportData data, gather_report(run));
  KERNELIFT_TRY(context.deliver(options.output, report_page(data)));
  if (options.output == "-") return Exit::Done;
  context.say("Report in " + fs::absolute(options.output).string());
  bool kept = data.applied && data.applied->kept();
  context.emit({{"report", fs::absolute(options.output).string()},
                {"candidates", data.candidates.size()},
                {"best_speedup", data.fastest ? data.fastest->speedup : 0},
                {"fastest", data.fastest ? Json(data.fastest->number) : Json(nullptr)},
                {"kept", kept && data.applied->tried ? Json(data.applied->tried->number) : Json(nullptr)}});
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run,
                 "Run file, or a kernel's name for its latest run (default: the one written last)");
  app.add_flag("--optimize", options->optimize, "About the last `kernelift optimize`: all its kernels and runs");
  app.add_option("-o,--output", options->output, "HTML file to write; -: stdout")->required();
  return [options](const Context& context) { return report(context, *options); };
}

}  // namespace

const Verb kReport = {"report", "Write one self-contained HTML page about a run",
                      "kernelift report -o smooth.html    # the latest run; or name a .klrun file", setup};

}  // namespace kernelift::cli
