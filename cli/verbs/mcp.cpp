// kernelift mcp: a server through which a coding agent has kernels judged, tuned and patched (docs/agents.md).
#include <unistd.h>

#include "cli/duration.h"
#include "cli/mcp/server.h"
#include "cli/repositories.h"
#include "cli/verbs.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

struct Options {
  std::string application, idle = "5m";
  std::optional<uint16_t> http;
  mcp::ToolboxOptions toolbox;
};

Result<Exit> serve(const Options& options, const Context& context) {
  if (!options.application.empty() && chdir(options.application.c_str()) != 0)
    return usage_error("cannot go to " + options.application + ": it must be the application's folder");
  std::error_code code;
  const fs::path working = fs::current_path(code);
  if (code) return environment_error("the working folder is gone");
  mcp::ToolboxOptions toolbox = options.toolbox;
  toolbox.device = context.device;
  KERNELIFT_ASSIGN(double idle, parse_duration(options.idle));
  toolbox.idle = std::chrono::seconds(static_cast<int64_t>(idle));
  if (toolbox.build.empty() != toolbox.run.empty())
    return usage_error("applying needs both of the application's commands: --build CMD and --run CMD");
  KERNELIFT_ASSIGN(auto tops, repository_tops(toolbox.repositories));
  toolbox.repositories.clear();
  for (auto& top : tops) toolbox.repositories.push_back(top.string());
  return mcp::serve(mcp::Application::of(context.state_folder(), working), toolbox, options.http, context);
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--app", options->application, "The application's folder (default: the working folder)");
  app.add_option("--build", options->toolbox.build,
                 "The application's build command: with it and --run, clients may apply a run's winner");
  app.add_option("--run", options->toolbox.run, "The command whose run time is measured by apply");
  app.add_option("--check", options->toolbox.check, "A command whose exit code is 0 if the application is right");
  app.add_option("--time", options->toolbox.time, "Time of apply for runs before and after the patch");
  add_repositories(app, options->toolbox.repositories);
  app.add_option("--idle", options->idle, "How long an evaluator without work stays up")->capture_default_str();
  app.add_option("--http", options->http,
                 "Serve on this port of 127.0.0.1, and not on stdin: clients that send the token; 0: any free port");
  add_allow_weak_jail(app, options->toolbox.allow_weak_jail);
  return [options](const Context& context) { return serve(*options, context); };
}

}  // namespace

const Verb kMcp = {"mcp", "Serve coding agents by the Model Context Protocol, on stdin and stdout or by HTTP",
                   "claude mcp add kernelift -- kernelift mcp --app .   # other clients: docs/agents.md", setup};

}  // namespace kernelift::cli
