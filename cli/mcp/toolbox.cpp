// See toolbox.h. Here: the dispatch, running verbs, the resources, and the tools that read or extract.
#include "cli/mcp/toolbox.h"

#include "cli/mcp/descriptions.h"
#include "cli/mcp/facts.h"
#include "core/base/file.h"
#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"
#include "core/model/capture.h"
#include "core/model/capture_region.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "extractor/record/hot_list.h"

namespace fs = std::filesystem;

namespace kernelift::cli::mcp {
namespace {

constexpr const char* kNoCounters = "the CPU device has no counters";

constexpr size_t kMostVerbs = 4;  ///< Processes of calls at a time; each may compile.

constexpr const char* kMeps = "kernelift://meps/";
constexpr const char* kSource = "/source";

std::vector<std::string> judge_options(const Application& application, const ToolboxOptions& options) {
  std::vector<std::string> words{"--device", options.device, "--state", application.state.string()};
  if (options.allow_weak_jail) words.push_back("--allow-weak-jail");
  return words;
}

}  // namespace

Toolbox::Toolbox(EventLoop& loop, Application application, ToolboxOptions options)
    : loop_(loop),
      application_(std::move(application)),
      options_(std::move(options)),
      judge_(loop, judge_options(application_, options_), options_.idle),
      jobs_(loop) {}

std::vector<ToolDescription> Toolbox::tools() const { return tool_descriptions(); }
std::string Toolbox::instructions() const { return instructions_text(); }

void Toolbox::call(const std::string& tool, const CallPointer& call) {
  if (tool == "doctor") return doctor(call);
  if (tool == "hot_list") return hot_list(call);
  if (tool == "extract") return extract(call);
  if (tool == "facts") return facts(call);
  if (tool == "profile") return profile(call);
  if (tool == "check") return judge(tool, Depth::Verify, call);
  if (tool == "evaluate")
    return judge(tool, call->arguments.value("confirm", false) ? Depth::Confirm : Depth::Screen, call);
  if (tool == "tune") return tune(call);
  if (tool == "status") return status(call);
  if (tool == "cancel") return cancel(call);
  if (tool == "apply") return apply(call);
  KERNELIFT_ASSERT(false, "every described tool is known");
}

std::vector<std::string> Toolbox::verb(const std::string& name, const std::vector<std::string>& options) const {
  std::vector<std::string> words{name, "--json", "--device", options_.device, "--state", application_.state.string()};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

void Toolbox::run(const CallPointer& call, const std::vector<std::string>& words, Done done, Failed failed) {
  struct Heard {
    std::string out, said;
  };
  if (!failed) failed = [call](const std::string& error) { call->fail(error); };
  if (running_.size() >= kMostVerbs)
    return failed("this server answers " + std::to_string(kMostVerbs) + " other calls; call again when one is over");
  auto heard = std::make_shared<Heard>();
  const uint64_t number = ++last_run_;
  Child::Handlers handlers;
  handlers.out = [heard](const std::string& line) { heard->out += line + "\n"; };
  handlers.note = [heard, call](const std::string& line) {
    heard->said += line + "\n";
    call->progress(line);
  };
  handlers.ended = [this, number, heard, call, verb = words[0], done = std::move(done), failed](int exit_code) {
    const auto gone = std::move(running_.at(number));  // It lives until the end of this.
    running_.erase(number);
    auto document = parse_json(heard->out, "");
    if (document.ok() && document->is_object() && !document->contains("error")) return done(*document, heard->said);
    std::string error = document.ok() && document->is_object() ? text_member(*document, "error") : "";
    failed(error.empty() ? verb + " ended with exit code " + std::to_string(exit_code) + ": " + heard->said : error);
  };
  auto started = Child::start(loop_, words, std::move(handlers));
  if (!started.ok()) return failed(started.error().message);
  running_[number] = {*std::move(started), words[0] == "replay"};
  call->on_cancel = [this, number] { running_.erase(number); };
}

std::string Toolbox::occupied() const {
  if (std::ranges::any_of(running_, [](auto& one) { return one.second.measures; }))
    return "another call (profile, or facts) is measuring, and two at once would disturb each other: call again after "
           "it";
  const Job* job = jobs_.running();
  if (!job) return "";
  return "job " + std::to_string(job->number) + " (" + job->verb + " of " + job->subject +
         ") is measuring, and two at once would disturb each other: wait for it (status), or cancel it";
}

Json Toolbox::resources() {
  Json list = Json::array();
  for (auto& folder : application_.meps())
    list.push_back({{"uri", kMeps + folder.filename().string() + kSource},
                    {"name", folder.filename().string()},
                    {"title", "Source of an extracted kernel"},
                    {"mimeType", "text/plain"}});
  for (auto& document : documents_.kept())
    list.push_back({{"uri", document.uri},
                    {"name", document.uri.substr(document.uri.rfind('/') + 1)},
                    {"title", document.title},
                    {"mimeType", document.text.starts_with('{') ? "application/json" : "text/plain"},
                    {"size", document.text.size()}});
  return list;
}

Result<std::string> Toolbox::resource(const std::string& uri) {
  if (auto* document = documents_.find(uri)) return document->text;
  const std::string prefix = kMeps, suffix = kSource;
  if (uri.starts_with(prefix) && uri.ends_with(suffix) && uri.size() > prefix.size() + suffix.size()) {
    const std::string name = uri.substr(prefix.size(), uri.size() - prefix.size() - suffix.size());
    for (auto& folder : application_.meps())
      if (folder.filename() == name) {
        KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
        KERNELIFT_ASSIGN(std::string text, read_text(folder / mep.kernel_file()));
        return without_secrets(std::move(text));
      }
  }
  return usage_error("there is no resource of this URI, or it has been forgotten; resources/list has those that are");
}

void Toolbox::doctor(const CallPointer& call) {
  run(call, verb("doctor"), [this, call](const Json& document, const std::string&) {
    Json lacks = Json::array(), good = Json::array();
    for (auto& finding : document.value("findings", Json::array()))
      if (text_member(finding, "state") == "good") good.push_back(text_member(finding, "name"));
      else lacks.push_back(finding);
    answer(call, "doctor",
           {{"usable", document.value("usable", false)},
            {"confines_candidates", document.value("confines_candidates", false)},
            {"application", application_.root.string()},
            {"lacks", lacks},
            {"good", good}});
  });
}

void Toolbox::hot_list(const CallPointer& call) {
  fs::path folder = application_.state / "capture";
  std::error_code code;
  if (!fs::exists(folder, code)) folder = application_.state / "profile";
  if (!fs::exists(folder, code))
    return call->fail("nothing is recorded under " + application_.state.string() +
                      "; the user does that: kernelift build -- BUILD, kernelift scan, kernelift record -- COMMAND");
  auto capture = Capture::open(folder);
  if (!capture.ok()) return call->fail(capture.error().message);
  const CaptureInfo& info = capture->info();
  std::map<std::string, std::string> extracted;
  for (auto& one : application_.meps())
    if (auto mep = Mep::read(one); mep.ok()) extracted[mep->kernel_key] = one.filename().string();
  Json kernels = record::hot_list_json(info.profile);
  constexpr size_t kUsual = 20;
  const size_t most = call->arguments.value("most", kUsual);
  const DistinctNames names = record::names_in(info.profile);
  Json shown = Json::array();
  for (auto& kernel : kernels) {
    if (shown.size() == most) break;
    const std::string key = text_member(kernel, "kernel");
    size_t captured = 0;
    for (auto& instance : capture->instances()) captured += instance.kernel == key;
    kernel["name"] = shown_line(names.of(key), kLongestName), kernel["captured_launches"] = captured;
    if (auto mep = extracted.find(key); mep != extracted.end()) kernel["mep"] = mep->second;
    shown.push_back(kernel);
  }
  Json omissions = Json::array();
  for (auto& one : info.omissions) omissions.push_back(one.what + ": " + one.why);
  answer(call, "hot-list",
         {{"device", info.device},
          {"command", info.command},
          {"run_seconds", info.run_seconds},
          {"region", capture_region(folder)},
          {"kernels", shown},
          {"further_kernels", kernels.size() - shown.size()},
          {"not_captured", omissions},
          {"damage", capture->damage()}});
}

void Toolbox::extract(const CallPointer& call) {
  std::vector<std::string> options;
  if (call->arguments.contains("inputs")) options = {"--inputs", text_member(call->arguments, "inputs")};
  options.insert(options.end(), {"--", text_member(call->arguments, "kernel")});
  run(call, verb("extract", options), [this, call](Json document, const std::string& said) {
    const fs::path folder = text_member(document, "mep");
    document["mep"] = folder.filename().string(), document["folder"] = folder.string(), document["said"] = said;
    if (auto launches = document.find("instances"); launches != document.end() && launches->is_array()) {
      Json shown = Json::array();
      for (auto& launch : *launches)
        if (!launch.value("held_out", false)) shown.push_back(launch);
      document["held_out_launches"] = launches->size() - shown.size(), *launches = std::move(shown);
    }
    document["source"] = kMeps + folder.filename().string() + kSource;
    answer(call, "extract", document);
  });
}

void Toolbox::facts(const CallPointer& call) {
  auto folder = application_.mep_folder(text_member(call->arguments, "kernel"));
  if (!folder.ok()) return call->fail(folder.error().message);
  auto mep = Mep::read(*folder);
  if (!mep.ok()) return call->fail(mep.error().message);
  auto source = read_text(*folder / mep->kernel_file());
  if (!source.ok()) return call->fail(source.error().message);
  Json known = facts_of(*mep, *folder, *source);
  known["source_resource"] = kMeps + folder->filename().string() + kSource;
  const std::string path = folder->string();
  auto add_bound = [=, this](Json known) {
    if (const std::string why = has_counters() ? measuring() : kNoCounters; !why.empty()) {
      known["bounded_by"] = "not known: " + why;
      return answer(call, "facts", known);
    }
    run(
        call, verb("replay", {"--warm", "--counters", "--", path}),
        [=, this](const Json& replay, const std::string&) mutable {
          known["bounded_by"] = replay.value("diagnosis", Json("not known: no counters could be read"));
          answer(call, "facts", known);
        },
        [=, this](const std::string& error) mutable {
          known["bounded_by"] = "not known: " + error;
          answer(call, "facts", known);
        });
  };
  run(
      call, verb("model", {"--", path}),
      [=, this, kernel = mep->kernel_name](const Json& model, const std::string& said) mutable {
        known["accesses"] = model.value("as_recorded", Json::array());
        for (const char* key : {"inputs", "tried", "rules", "rules_declined"})
          if (auto found = model.find(key); found != model.end()) known[key] = *found;
        known["memory_model"] = {{"complete", model.value("complete", false)},
                                 {"resource", documents_.keep("What " + kernel + " does with memory", said)}};
        add_bound(known);
      },
      [=](const std::string& error) mutable {
        known["memory_model"] = {{"not_known", error}};
        add_bound(known);
      });
}

bool Toolbox::has_counters() const { return !record::is_processor(options_.device); }

std::string Toolbox::measuring() const {
  if (std::string job = occupied(); !job.empty()) return job;
  return judge_.busy() ? "candidates are being judged, and two that measure would disturb each other" : "";
}

void Toolbox::profile(const CallPointer& call) {
  auto folder = application_.mep_folder(text_member(call->arguments, "kernel"));
  if (!folder.ok()) return call->fail(folder.error().message);
  auto mep = Mep::read(*folder);
  if (!mep.ok()) return call->fail(mep.error().message);
  if (std::string busy = measuring(); !busy.empty()) return call->fail(busy);
  std::set<std::string> held_out;
  for (auto& instance : mep->instances)
    if (instance.held_out) held_out.insert(instance.id);
  std::vector<std::string> options = {"--warm"};
  if (has_counters()) options.push_back("--counters");
  options.insert(options.end(), {"--", folder->string()});
  run(call, verb("replay", options), [=, this](const Json& replay, const std::string&) {
    const char* const why = has_counters() ? "no counters could be read" : kNoCounters;
    Json known = {{"kernel", replay.value("kernel", "")},
                  {"mep", folder->filename().string()},
                  {"device", replay.value("device", "")},
                  {"reproduced", replay.value("pass", false)},
                  {"bounded_by", replay.value("diagnosis", Json(std::string("not known: ") + why))}};
    Json launches = Json::array();
    const Json warm = replay.value("warm", Json::object());
    for (auto& instance : warm.value("instances", Json::array())) {
      if (held_out.contains(text_member(instance, "id"))) continue;
      Json launch = {{"id", text_member(instance, "id")},
                     {"microseconds", 1e6 * number_member(instance, "seconds")},
                     {"spread", number_member(instance, "spread")}};
      if (std::string failure = text_member(instance, "failure"); !failure.empty()) launch["failure"] = failure;
      launches.push_back(std::move(launch));
    }
    known["launches"] = std::move(launches), known["held_out_launches"] = held_out.size();
    if (auto facts = replay.find("facts"); facts != replay.end()) known["counters"] = *facts;
    answer(call, "profile", known);
  });
}

}  // namespace kernelift::cli::mcp
