// kernelift report RUN -o FILE.html: writes one HTML page about a run.
#include "cli/report/run_report.h"
#include "cli/verbs.h"
#include "tuner/store/run.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

struct Options {
  std::string run, output;
};

Result<Exit> report(const Context& context, const Options& options) {
  fs::path run = options.run, state = context.state_folder();
  if (run.empty()) run = tuner::Run::last_written(state);
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
  app.add_option("run", options->run, "Run file (default: the one written last)");
  app.add_option("-o,--output", options->output, "HTML file to write; -: stdout")->required();
  return [options](const Context& context) { return report(context, *options); };
}

}  // namespace

const Verb kReport = {"report", "Write one self-contained HTML page about a run",
                      "kernelift report -o smooth.html    # the latest run; or name a .klrun file", setup};

}  // namespace kernelift::cli
