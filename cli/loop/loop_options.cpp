// See loop_options.h.
#include "cli/loop/loop_options.h"

#include "cli/repositories.h"

namespace kernelift::cli {

void add_loop_options(CLI::App& app, LoopOptions& options) {
  app.add_option("--build", options.build,
                 "The application's build command, run in this folder. Not needed where kernels are compiled while it "
                 "runs (NVRTC, "
                 "CuPy): without it no patch of a source can be tried");
  app.add_option("--run", options.run, "The command whose run time is to be reduced")->required();
  add_measure(app, options.measure, true);
  app.add_option("--check", options.check,
                 "A command whose exit code is 0 if the application's results are right (default: the --run command)");
  app.add_option("--time", options.time, "Tuning time for all kernels together: 90, 10m, 2h")->capture_default_str();
  app.add_option("--kernels", options.limits.kernels,
                 "Maximum number of kernels to tune, in the order of what can be won; each takes 10 s of --time at "
                 "least. Kernels "
                 "that are refused before their search, such as a library's, do not count")
      ->capture_default_str();
  app.add_option("--smallest-share", options.smallest_share,
                 "Leave out kernels of a smaller share of the time, in per cent. Those below 2 % are tuned where they "
                 "make up 2 % together, and applied together")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--skip", options.skip, "Ignore the first N launches of each kernel, if they are not representative")
      ->capture_default_str();
  app.add_option("--embed", options.embed, "Embed tuned PTX in patches: never, auto or only (see apply --help)")
      ->capture_default_str();
  app.add_flag("--no-guards", options.no_guards,
               "Patch a candidate that is right only at some sizes without having its launch ask for them");
  app.add_flag("--allow-host-changes", options.allow_host_changes,
               "Let patches change functions that are compiled for the host too (see apply --help)");
  app.add_flag("--allow-unproven-host", options.allow_unproven_host,
               "Patch units whose host half clang cannot compile (see apply --help)");
  app.add_option("--limit", options.limit,
                 "Longest time for one check, run or build of the application (see apply --help)")
      ->capture_default_str();
  app.add_option("--hooks", options.hooks, "git's hooks at the commit of a patch: run or skip (see apply --help)")
      ->capture_default_str()
      ->check(CLI::IsMember({"run", "skip"}));
  add_repositories(app, options.repositories);
  add_lock_clocks(app, options.lock_clocks);
  add_allow_weak_jail(app, options.allow_weak_jail);
  add_search(app, options.search);
}

}  // namespace kernelift::cli
