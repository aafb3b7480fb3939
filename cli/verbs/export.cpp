// `kernelift export`: writes a run in the formats of other tools, or completely as JSON.
#include "tuner/store/export.h"
#include "cli/verbs.h"
#include "reintegrate/apply_request.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::string run, format, out;
};

Result<Exit> run(const Options& options, const Context& context) {
  KERNELIFT_ASSIGN(std::filesystem::path file, reintegrate::find_run(options.run, context.state_folder()));
  KERNELIFT_ASSIGN(tuner::Run opened, tuner::Run::open(file));
  KERNELIFT_ASSIGN(Json document, export_run(opened, options.format));
  // Escaped beyond ASCII: it may go to a terminal.
  KERNELIFT_TRY(context.deliver(options.out, document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"));
  // Without a file the document itself went to stdout, with or without --json.
  if (options.out.empty() || options.out == "-") return Exit::Done;
  context.say("wrote " + options.out);
  context.emit({{"to", options.format}, {"file", options.out}});
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RUN", options->run, "A .klrun file, or a kernel's name for its latest run")->required();
  app.add_option("--to", options->format,
                 "t4 (Kernel Tuner results), cachefile (Kernel Tuner cache), or json (the complete run)")
      ->required();
  app.add_option("-o,--out", options->out, "File to write (default, and for -: stdout)");
  return [options](const Context& context) { return run(*options, context); };
}

}  // namespace

extern const Verb kExport = {"export", "Write a run as Kernel Tuner results, as a Kernel Tuner cache file, or as JSON",
                             "kernelift export .kernelift/runs/smooth-*-1.klrun --to t4 -o smooth_T4.json", setup};

}  // namespace kernelift::cli
