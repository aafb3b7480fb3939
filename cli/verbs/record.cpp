// kernelift record -- CMD…: runs the application, prints where its time goes and which launches were captured.
#include "cli/verbs.h"
#include "core/base/process.h"
#include "core/base/shown/outside_text.h"
#include "core/compiler/paths.h"
#include "core/model/capture_region.h"
#include "core/model/kernel_key.h"
#include "core/model/scan/scan_index.h"
#include "extractor/record/archive.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "extractor/record/hot_list.h"
#include "extractor/record/process_list.h"
#include "extractor/record/record_run.h"

namespace kernelift::cli {
namespace {

constexpr uint64_t kMiB = 1 << 20;

constexpr const char* kExitCodeMatters = ". If its exit code does not indicate failure, add `|| true` to the command";

struct Options {
  record::RecordConfig config;
  uint64_t mebibytes = record::RecordConfig{}.instance_bytes / kMiB;
  bool by_rank = false;
  std::vector<std::string> command;
};

Json instances_json(const std::vector<CapturedInstance>& instances) {
  Json list = Json::array();
  for (auto& instance : instances)
    list.push_back({{"id", instance.id},
                    {"kernel", instance.kernel},
                    {"launch_index", instance.launch_index},
                    {"geometry", to_json(instance.geometry)},
                    {"microseconds", instance.microseconds},
                    {"weight", instance.weight},
                    {"held_out", instance.held_out},
                    {"regions", instance.regions.size()},
                    {"bytes", record::instance_bytes(instance)}});
  return list;
}

/// One line per kernel, in the order of the profile: its captured launches, and the share of the kernel's time that
/// each represents.
std::string instances_text(const record::RecordOutcome& outcome) {
  const DistinctNames names = record::names_in(outcome.info.profile);
  std::string text;
  for (auto& kernel : outcome.info.profile) {
    std::string launches;
    uint64_t bytes = 0;
    for (auto& instance : outcome.instances) {
      if (instance.kernel != kernel.key) continue;
      char share[32];
      std::snprintf(share, sizeof share, "%.0f%%", 100 * instance.weight);
      launches += (launches.empty() ? "" : ", ") + std::to_string(instance.launch_index) + " (" +
                  (instance.held_out ? "held out" : share) + ")";
      bytes += record::instance_bytes(instance);
    }
    if (!launches.empty())
      text += "  " + shown_line(names.of(kernel.key), kLongestName) + ": launches " + launches + ", " +
              record::size_text(bytes) + "\n";
  }
  return text;
}

/// Notes on lines of the table that may be the sum of several kernels, because the recorder distinguishes kernels by
/// name only.
std::string namesakes_text(const std::vector<KernelProfile>& profile, const std::filesystem::path& state) {
  auto scanned = ScanIndex::read(state / "scan.json");
  if (!scanned.ok()) return {};
  const DistinctNames names = record::names_in(profile);
  std::string text;
  for (auto& kernel : profile) {
    auto namesakes = scanned->namesakes(kernel.key);
    if (namesakes.size() < 2) continue;
    std::string places;
    for (auto* one : namesakes)
      places += (places.empty() ? "" : ", ") +
                std::filesystem::path(one->definition.file).lexically_proximate(scanned->root).string() + ":" +
                std::to_string(one->definition.line);
    text += "  " + shown_line(names.of(kernel.key), kLongestName) + " is the name of " +
            std::to_string(namesakes.size()) + " kernels, counted as one above: " + shown_line(places) + "\n";
  }
  return text;
}

/// Of what the hot list is; nothing if it is of the whole run.
std::string region_line(const std::string& region) {
  const std::string text = capture_region_text(region);
  return text.empty() ? "" : shown_line(text) + "\n";
}

/// The hot list of each process.
std::string lists_by_rank(const record::RecordOutcome& outcome) {
  std::string text;
  for (size_t i = 0; i < outcome.info.processes.size(); ++i)
    text += "\n" + record::title(outcome.info.processes[i]) + ":\n" + record::hot_list(outcome.profiles[i]);
  return text;
}

Json processes_json(const record::RecordOutcome& outcome) {
  Json list = Json::array();
  for (size_t i = 0; i < outcome.info.processes.size(); ++i) {
    auto& process = outcome.info.processes[i];
    list.push_back({{"name", process.name},
                    {"command", process.command},
                    {"run_seconds", process.run_seconds},
                    {"images", process.images},
                    {"kernels", record::hot_list_json(outcome.profiles[i])}});
    if (process.rank) list.back()["rank"] = *process.rank;
  }
  return list;
}

/// The ranks of a run whose images were asked of another one; empty if that is not why nothing was captured.
std::string other_ranks(const record::RecordOutcome& outcome, const record::RecordConfig& config) {
  const uint64_t wanted = config.rank.value_or(0);
  std::string ranks;
  auto add = [&](const std::optional<uint64_t>& rank) {
    if (rank && *rank != wanted) ranks += (ranks.empty() ? "" : ", ") + std::to_string(*rank);
    return !rank || *rank != wanted;
  };
  if (outcome.info.processes.empty()) return add(outcome.info.rank) ? ranks : "";
  for (auto& process : outcome.info.processes)
    if (!add(process.rank)) return "";
  return ranks;
}

/// Why nothing was captured although the application succeeded.
Error nothing_captured(const record::RecordOutcome& outcome, const record::RecordConfig& config,
                       const std::string& program, bool on_gpu) {
  if (!outcome.runtime_seen)
    return answer_is_no(program + (on_gpu
                                       ? " did not use CUDA, so there was nothing to record; run it with arguments for "
                                         "which it uses the GPU"
                                       : " did nothing on the CPU device, so there was nothing to record: it ended "
                                         "before that (does it want other arguments, or a second GPU?), or it was not "
                                         "built by: kernelift build --device cpu -- <its build command>"));
  std::string why;
  for (auto& omission : outcome.info.omissions) why += "\n  " + shown_line(omission.what + ": " + omission.why);
  if (outcome.info.profile.empty() && why.empty())
    return answer_is_no(program + " ended without launching a kernel; run it with arguments for which it uses the GPU");
  const std::string rank = std::to_string(config.rank.value_or(0));
  if (std::string ranks = other_ranks(outcome, config); !ranks.empty())
    return answer_is_no("no process of rank " + rank + " launched a kernel; ranks of those that did: " + ranks +
                        ". Choose one with --rank");
  if (!why.empty()) return answer_is_no("no launch could be captured:" + why);
  if (config.rank && outcome.info.profile.size() > 0 && config.kernel.empty() && config.skip == 0)
    return answer_is_no("no process is number " + rank +
                        " in the order in which they began to use the device (--rank)");
  if (config.skip > 0)
    return answer_is_no("no launch was captured: no matching kernel was launched more than --skip " +
                        std::to_string(config.skip) + " times");
  return answer_is_no("no kernel matches --kernel '" + config.kernel + "'; the kernels of this run are listed above");
}

/// Requests the CUDA recorder if there is an NVIDIA driver, unless the user chose the CPU device.
Status add_cuda(const Context& context, record::RecordRequest& request) {
  bool requested = context.device.starts_with("cuda");
  if (context.device == "cpu" || (!requested && !record::has_nvidia_driver())) return done();
  if (!record::has_nvidia_driver()) return environment_error(record::kNoDriver);
  auto library = runtime_library_folder() / "libkernelift_record_cuda.so";
  std::error_code code;
  if (!std::filesystem::exists(library, code)) {
    if (!requested) return done();
    return environment_error("this Kernelift was built without NVIDIA's headers and cannot record on a GPU: " +
                             library.string() + " is missing");
  }
  std::vector<std::filesystem::path> roots;
  if (auto toolkit = cuda_toolkit()) roots.push_back(*toolkit);
  auto cupti = record::find_cupti(roots, record::driver_cuda_version());
  if (!cupti)
    return environment_error(
        "CUPTI is missing, which recording on an NVIDIA GPU needs: install the CUDA toolkit or `pip install "
        "nvidia-cuda-cupti`, set $KERNELIFT_CUPTI to the library, or record on the CPU device with --device cpu");
  request.cuda_library = library;
  request.nvrtc_library = runtime_library_folder() / "libkernelift_record_nvrtc.so";
  request.cupti = *cupti;
  return done();
}

Result<Exit> record(const Context& context, const Options& options) {
  if (context.device.starts_with("hip"))
    return refused("recording on " + context.device +
                   " is not supported; CUDA applications can be recorded, and HIP applications built by kernelift "
                   "build --device cpu");
  record::RecordRequest request;
  request.command = options.command;
  request.state = context.state_folder();
  request.library = runtime_library_folder() / "libkernelift_record.so";
  request.config = options.config;
  request.config.instance_bytes = options.mebibytes * kMiB;
  request.application_to_stderr = context.json;
  KERNELIFT_TRY(add_cuda(context, request));
  KERNELIFT_ASSIGN(record::RecordOutcome outcome, record_application(request));

  if (!outcome.info.profile.empty())
    context.say_lines("\n" + region_line(options.config.region) + record::hot_list(outcome.info.profile) +
                      namesakes_text(outcome.info.profile, request.state) +
                      (options.by_rank ? lists_by_rank(outcome) : ""));
  if (!outcome.info.processes.empty())
    context.say_lines("All processes in sum; each:\n" + record::process_list(outcome.info.processes));
  if (!outcome.instances.empty())
    context.say_lines("Captured launches, with the share of the kernel's time that each represents:\n" +
                      instances_text(outcome));
  for (auto& omission : outcome.info.omissions) context.note("not captured: " + omission.what + ": " + omission.why);
  for (auto& note : outcome.notes) context.note(note);
  if (!outcome.folder.empty())
    context.say(options.config.profile_only
                    ? "Profile in " + outcome.folder.string()
                    : "Capture in " + outcome.folder.string() + " (" + record::size_text(outcome.stored_bytes) + ")");
  if (outcome.programs > 0)
    context.note(std::to_string(outcome.programs) + (outcome.programs == 1 ? " program was" : " programs were") +
                 " compiled by NVRTC while the application ran; kernels of such can be extracted, too");
  if (outcome.interrupted)
    return Error{outcome.folder.empty() ? "interrupted before anything was recorded"
                                        : "interrupted; the launches recorded until then are kept",
                 Exit::Interrupted};
  if (!outcome.application.ok()) {
    std::string kept = outcome.folder.empty() ? "; nothing was captured, and an earlier capture is untouched"
                                              : "; the launches recorded until then are kept";
    return answer_is_no(join_command(options.command) + " " + outcome.application.describe() + kept +
                        (outcome.application.exit_code > 0 ? kExitCodeMatters : ""));
  }
  if (outcome.folder.empty())
    return nothing_captured(outcome, options.config, options.command[0], !request.cupti.empty());
  Json omissions = Json::array();
  for (auto& omission : outcome.info.omissions) omissions.push_back({{"what", omission.what}, {"why", omission.why}});
  if (context.json)
    context.emit({{"folder", outcome.folder.string()},
                  {"device", outcome.info.device},
                  {"run_seconds", outcome.info.run_seconds},
                  {"span_seconds", outcome.info.span_seconds},
                  {"region", options.config.region},
                  {"recorder_seconds", outcome.info.recorder_seconds},
                  {"stored_bytes", outcome.stored_bytes},
                  {"kernels", record::hot_list_json(outcome.info.profile)},
                  {"processes", processes_json(outcome)},
                  {"instances", instances_json(outcome.instances)},
                  {"omissions", omissions},
                  {"notes", outcome.notes}});
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--kernel", options->config.kernel, "Capture only kernels whose name matches this regular expression");
  app.add_option("--instances", options->config.instances,
                 "Largest number of launches captured per kernel; fewer, but two, of more than 4 GiB together")
      ->capture_default_str();
  app.add_option("--skip", options->config.skip, "Ignore the first N launches of each kernel")->capture_default_str();
  app.add_option("--region", options->config.region,
                 "Record only launches in an NVTX range of this name (NAME, or NAME@DOMAIN)");
  app.add_option("--rank", options->config.rank,
                 "Of several processes, the one whose memory is captured: its rank in mpirun or srun (without this "
                 "option 0), or without a launcher its number, from 0, in the order in which they use the device");
  app.add_flag("--by-rank", options->by_rank, "Show the hot list of each process, too");
  app.add_flag("--profile-only", options->config.profile_only, "Count and time launches; capture nothing");
  app.add_flag("--all-memory", options->config.all_memory,
               "Capture all allocated memory, for kernels that access memory through addresses not found in their "
               "arguments");
  app.add_option("--mib", options->mebibytes, "Limit on the memory image of one captured launch, in MiB")
      ->capture_default_str();
  app.add_option("--patience", options->config.patience_seconds,
                 "Longest that the application is held up for a captured launch to end, in seconds")
      ->capture_default_str();
  app.add_option("command", options->command, "The application and its arguments, after --")->required();
  return [options](const Context& context) { return record(context, *options); };
}

}  // namespace

const Verb kRecord = {"record", "Run the application; profile its kernels and capture representative launches",
                      "kernelift record --kernel smooth -- ./build/heat --steps 100", setup, true};

}  // namespace kernelift::cli
