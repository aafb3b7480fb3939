// The tools that run as jobs, and those that look after jobs: `tune`, `apply`, `status`, `cancel`.
#include "cli/mcp/judgement.h"
#include "cli/mcp/toolbox.h"
#include "core/base/json_member.h"
#include "reintegrate/apply_request.h"
#include "tuner/store/run.h"

namespace fs = std::filesystem;

namespace kernelift::cli::mcp {

void Toolbox::start_job(const CallPointer& call, const std::string& verb, const std::string& subject,
                        std::vector<std::string> words) {
  if (std::string job = occupied(); !job.empty()) return call->fail(job);
  if (judge_.busy())
    return call->fail(
        "candidates are being judged, and two that measure would disturb each other: try again when "
        "check and evaluate have answered");
  judge_.give_back();  // It would hold memory that the job may need.
  auto job = jobs_.start(verb, subject, words);
  if (!job.ok()) return call->fail(job.error().message);
  answer(call, verb, state_of(**job));
}

Json Toolbox::state_of(const Job& job) const {
  Json state = {{"job", job.number},
                {"verb", job.verb},
                {"of", job.subject},
                {"state", job.cancelling && job.state == Job::State::Running ? "ending" : name(job.state)},
                {"seconds", job.seconds()}};
  if (!job.error.empty()) state["error"] = job.error;
  if (!job.result.is_null()) state["result"] = without_hidden_sizes(job.result);
  if (!job.notes.empty()) state["last_words"] = job.notes;
  return state;
}

void Toolbox::tune(const CallPointer& call) {
  const Json& wanted = call->arguments;
  auto folder = application_.mep_folder(text_member(wanted, "kernel"));
  if (!folder.ok()) return call->fail(folder.error().message);
  std::vector<std::string> options;
  auto number = [&](const char* key) { return std::to_string(wanted.at(key).get<int64_t>()); };
  if (wanted.contains("seconds")) options.insert(options.end(), {"--time", number("seconds")});
  if (wanted.contains("evaluations")) options.insert(options.end(), {"--evals", number("evaluations")});
  if (wanted.contains("tiers")) options.push_back("--tiers=" + text_member(wanted, "tiers"));
  for (auto& file : wanted.value("templates", Json::array())) {
    auto inside = application_.inside(file.get<std::string>());
    if (!inside.ok()) return call->fail(inside.error().message);
    options.insert(options.end(), {"--template", inside->string()});
  }
  if (wanted.value("resume", false)) options.push_back("--resume");
  if (options_.allow_weak_jail) options.push_back("--allow-weak-jail");
  options.insert(options.end(), {"--", folder->string()});
  start_job(call, "tune", folder->filename().string(), verb("tune", options));
}

void Toolbox::apply(const CallPointer& call) {
  const Json& wanted = call->arguments;
  std::string word = text_member(wanted, "run");
  // The runs of a kernel are named after its MEP.
  if (auto folder = application_.mep_folder(word); folder.ok() && !word.ends_with(".klrun"))
    word = folder->filename().string();
  auto file = reintegrate::find_run(word, application_.state);
  if (!file.ok()) return call->fail(file.error().message);
  auto run = application_.inside(file->string());
  if (!run.ok()) return call->fail(run.error().message);
  std::vector<std::string> options;
  if (wanted.contains("candidate")) options = {"--candidate", std::to_string(wanted.at("candidate").get<int64_t>())};
  for (auto& folder : options_.repositories) options.insert(options.end(), {"--repo", folder});
  if (wanted.value("dry_run", true)) {
    options.insert(options.end(), {"--dry-run", "--", run->string()});
    return this->run(call, verb("apply", options), [this, call](Json patch, const std::string&) {
      patch["dry_run"] = true;
      patch["would"] = options_.build.empty()
                           ? "nothing by this server: it was started without --build and --run"
                           : "patch " + application_.root.string() + " on a git branch, build it with '" +
                                 options_.build + "', check it with '" +
                                 (options_.check.empty() ? options_.run : options_.check) + "', time '" + options_.run +
                                 "' before and after, and keep the patch only if the application is right and faster";
      answer(call, "apply", patch);
    });
  }
  if (options_.build.empty() || options_.run.empty())
    return call->fail(
        "this server applies nothing, because it was started without the application's commands: the user "
        "gives them (kernelift mcp --build CMD --run CMD [--check CMD]), or runs kernelift apply");
  options.insert(options.end(), {"--build", options_.build, "--run", options_.run});
  if (!options_.check.empty()) options.insert(options.end(), {"--check", options_.check});
  if (!options_.time.empty()) options.insert(options.end(), {"--time", options_.time});
  if (options_.allow_weak_jail) options.push_back("--allow-weak-jail");
  options.insert(options.end(), {"--", run->string()});
  start_job(call, "apply", run->filename().string(), verb("apply", options));
}

void Toolbox::status(const CallPointer& call) {
  const auto& jobs = jobs_.all();
  if (jobs.empty()) return call->fail("there is no job; tune and apply start one");
  const size_t number = call->arguments.value("job", jobs.rbegin()->first);
  if (!jobs_.find(number))
    return call->fail("there is no job " + std::to_string(number) + "; the latest is " +
                      std::to_string(jobs.rbegin()->first));
  jobs_.when_over(number, call->arguments.value("wait_seconds", 0.0), [this, call, number] {
    if (!call->over()) answer(call, "status", state_of(*jobs_.find(number)));
  });
}

void Toolbox::cancel(const CallPointer& call) {
  const size_t number = call->arguments.at("job");
  const Job* job = jobs_.find(number);
  if (!job) return call->fail("there is no job " + std::to_string(number));
  jobs_.cancel(number);
  answer(call, "cancel", state_of(*job));
}

}  // namespace kernelift::cli::mcp
