// kernelift selftest --hostile: candidates that cheat or try to get out, on this machine and device.
#include "cli/duration.h"
#include "cli/hostile/judging_process.h"
#include "cli/hostile/suite.h"
#include "cli/verbs.h"
#include "extractor/record/cuda/cupti/find_cupti.h"

namespace kernelift::cli {
namespace {

struct Options {
  bool hostile = false, quick = false, allow_weak_jail = false;
  std::vector<std::string> only;
  std::string files, meps, part = "1/1", within;
  int judge = -1;
};

Result<Exit> selftest(const Context& context, const Options& options) {
  if (!options.hostile) return usage_error("say what to test: kernelift selftest --hostile");
  std::string device = context.device;
  if (device == "auto") device = record::has_nvidia_driver() ? "cuda" : "cpu";
  if (options.judge >= 0)
    return judge_for(options.judge, {options.meps, device, options.quick, options.allow_weak_jail});
  SuiteOptions suite;
  suite.files = options.files.empty() ? hostile_folder() : std::filesystem::path(options.files);
  suite.device = device, suite.only = options.only, suite.quick = options.quick;
  suite.allow_weak_jail = options.allow_weak_jail;
  if (std::sscanf(options.part.c_str(), "%zu/%zu", &suite.part, &suite.parts) != 2 || suite.part < 1 ||
      suite.part > suite.parts)
    return usage_error("--part is I/N, such as 1/2, not '" + options.part + "'");
  if (!options.within.empty()) {
    KERNELIFT_ASSIGN(suite.seconds, parse_duration(options.within));
  }
  if (context.verbosity > 0)
    suite.progress = [&](const std::string& line, size_t number, size_t count) {
      context.note(std::to_string(number) + "/" + std::to_string(count) + "  " + line);
    };
  KERNELIFT_ASSIGN(SuiteReport report, run_suite(suite));
  context.say_lines(report.text());
  context.emit(report.json());
  return report.holds() ? Exit::Done : Exit::No;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_flag("--hostile", options->hostile,
               "Judge candidates that cheat or try to get out of the jail, and honest ones that must not be taken for "
               "them; exit code 1 if one is believed, gets out or is refused wrongly");
  app.add_option("--only", options->only, "Only candidates of these kinds, or with these names");
  app.add_flag("--quick", options->quick, "Fewer samples: three minutes, and gains are told less surely");
  app.add_option("--part", options->part, "Every Nth candidate only, from the Ith: I/N");
  app.add_option("--within", options->within, "Judge as many as this time suffices for, of each kernel: 90s, 5m");
  app.add_option("--files", options->files, "Folder of the suite's files (default: those that came with Kernelift)");
  add_allow_weak_jail(app, options->allow_weak_jail);
  app.add_option("--judge", options->judge)->group("");  // The process that this verb starts for itself.
  app.add_option("--meps", options->meps)->group("");
  return [options](const Context& context) { return selftest(context, *options); };
}

}  // namespace

const Verb kSelftest = {"selftest", "Try the sandbox on this machine with candidates that cheat or try to get out",
                        "kernelift selftest --hostile --device cpu", setup};

}  // namespace kernelift::cli
