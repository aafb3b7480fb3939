// See record_run.h. Every process of the application records into a folder of its own. The one that took images, and of
// several the one that spent most time in kernels, is the recording; the others are kept inside it under processes/,
// and its manifest tells of all of them.
#include "extractor/record/record_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <regex>

#include "core/base/file.h"
#include "core/base/locks/lock.h"
#include "core/base/process_tree.h"
#include "core/base/signal_scope.h"
#include "core/model/capture_region.h"
#include "core/model/runtime_program.h"
#include "extractor/record/process_list.h"

namespace fs = std::filesystem;

namespace kernelift::record {
namespace {

struct ProcessRecording {
  fs::path folder;
  Capture capture;
  double kernel_us = 0;
};

volatile std::sig_atomic_t interrupts = 0;
const ProcessTree* application = nullptr;

/// While the application runs, Ctrl-C is for it, and so are a lost terminal and a batch system's notice; we stay to
/// keep what it recorded. A handler, not SIG_IGN: the application would inherit that.
class OutliveInterrupt {
 public:
  explicit OutliveInterrupt(const ProcessTree& tree) {
    interrupts = 0;
    application = &tree;
    struct sigaction ours{};
    ours.sa_handler = [](int signal) {
      interrupts = interrupts + 1;
      // A terminal sends these to all of its processes; others may send them to us alone.
      if (signal != SIGINT && application) application->hand_on(signal);
    };
    ours.sa_flags = SA_RESTART;
    scope_.emplace(ours);
  }
  ~OutliveInterrupt() {
    scope_.reset();
    application = nullptr;
  }
  bool seen() const { return interrupts > 0; }

 private:
  std::optional<SignalScope> scope_;
};

double kernel_time(const CaptureInfo& info) {
  double total = 0;
  for (auto& kernel : info.profile) total += kernel.total_us;
  return total;
}

Status rename_folder(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::rename(from, to, code);
  if (code) return environment_error("cannot move " + from.string() + " to " + to.string() + ": " + code.message());
  return done();
}

/// Puts `fresh` at `place`; what was there is kept as `place`.old. The two change places in one step where the file
/// system can do that: a kill in between would leave no capture at all.
Status replace(const fs::path& fresh, const fs::path& place) {
  std::error_code code;
  fs::path old = place.string() + ".old";
  if (!fs::exists(place, code)) return rename_folder(fresh, place);
  fs::remove_all(old, code);
  if (code) return environment_error("cannot remove " + old.string() + ": " + code.message());
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0)
    return rename_folder(fresh, old);
  KERNELIFT_TRY(rename_folder(place, old));
  return rename_folder(fresh, place);
}

/// That nothing can be written is better known before the application has run for hours.
Status check_room(const fs::path& folder) {
  constexpr size_t kLeastRoom = 1 << 20;  // A profile and one small instance.
  fs::path probe = folder / "room";
  KERNELIFT_TRY(write_atomically(probe, std::string(kLeastRoom, '\0')));
  std::error_code code;
  fs::remove(probe, code);
  return done();
}

/// A folder without a journal belongs to a process that never launched: nothing to read, and that is no damage.
std::vector<ProcessRecording> read_recordings(const fs::path& folder, RecordOutcome& outcome) {
  std::vector<ProcessRecording> recordings;
  std::error_code code;
  for (auto& path : paths_in(folder)) {
    if (!path.filename().string().starts_with("process-")) continue;
    outcome.runtime_seen = true;
    if (!fs::exists(path / "instances.jsonl", code)) continue;
    auto capture = Capture::open(path);
    if (!capture.ok()) {
      outcome.notes.push_back(capture.error().message);
      continue;
    }
    for (auto& damage : capture->damage()) outcome.notes.push_back(damage);
    double time = kernel_time(capture->info());
    recordings.push_back({path, std::move(*capture), time});
  }
  return recordings;
}

/// The one that captured something, and of several the one that spent most time in kernels.
ProcessRecording& best_of(std::vector<ProcessRecording>& recordings) {
  return *std::max_element(recordings.begin(), recordings.end(), [](auto& a, auto& b) {
    bool empty_a = a.capture.instances().empty(), empty_b = b.capture.instances().empty();
    return empty_a != empty_b ? empty_a : a.kernel_us < b.kernel_us;
  });
}

/// What a record that was killed itself left unfinished is put aside.
void rescue(const fs::path& fresh, fs::path place, RecordOutcome& outcome) {
  RecordOutcome unfinished;
  auto recordings = read_recordings(fresh, unfinished);
  if (recordings.empty() || best_of(recordings).capture.instances().empty()) return;
  std::error_code code;
  const std::string name = place.string();
  for (int number = 2; fs::exists(place, code); ++number) place = name + "." + std::to_string(number);
  if (rename_folder(best_of(recordings).folder, place).ok())
    outcome.notes.push_back("an earlier kernelift record was killed; what it had captured is in " + place.string() +
                            ": rename that to capture to use it");
}

}  // namespace

Result<RecordOutcome> record_application(const RecordRequest& request) {
  std::error_code code;
  if (request.command.empty()) return usage_error("nothing to run; give the application after --");
  if (!fs::exists(request.library, code))
    return environment_error("the recorder is missing: " + request.library.string() + "; install Kernelift again");
  try {
    std::regex check(request.config.kernel, kPatternSyntax);
  } catch (const std::regex_error& wrong) {
    return usage_error("--kernel '" + request.config.kernel + "' is not a regular expression: " + wrong.what());
  }
  KERNELIFT_TRY(create_state_folder(request.state));
  fs::path state = fs::absolute(request.state);
  KERNELIFT_ASSIGN(Lock lock, Lock::take(state / "record.lock",
                                         "another `kernelift record` is running in this folder, and "
                                         "two at once would mix their captures"));
  fs::path fresh = state / "capture.new";
  RecordOutcome outcome;
  rescue(fresh, state / "capture.lost", outcome);
  fs::remove_all(fresh, code);
  fs::create_directories(fresh, code);
  if (code)
    return environment_error("cannot create " + fresh.string() + ": " + code.message() +
                             "; choose a writable place with --state DIR");
  if (Status room = check_room(fresh); !room.ok()) {
    fs::remove_all(fresh, code);
    return std::move(room).error();
  }

  RecordConfig config = request.config;
  config.folder = fresh.string();
  ProcessOptions options;
  options.capture_output = false;
  options.own_group = false;
  options.environment = config.to_environment(fs::absolute(request.library).string());
  if (!request.cuda_library.empty()) {
    if (!fs::exists(request.cuda_library, code))
      return environment_error("the recorder is missing: " + request.cuda_library.string() +
                               "; install Kernelift again");
    options.environment.push_back({"CUDA_INJECTION64_PATH", fs::absolute(request.cuda_library).string()});
    options.environment.push_back({"KERNELIFT_CUPTI", fs::absolute(request.cupti).string()});
  }
  if (!request.nvrtc_library.empty() && fs::exists(request.nvrtc_library, code)) {
    const char* others = std::getenv("LD_PRELOAD");
    options.environment.push_back({"LD_PRELOAD", fs::absolute(request.nvrtc_library).string() +
                                                     (others && *others ? ":" + std::string(others) : "")});
  }
  if (!config.region.empty()) {
    const fs::path& library = request.cuda_library.empty() ? request.library : request.cuda_library;
    options.environment.push_back({"NVTX_INJECTION64_PATH", fs::absolute(library).string()});
    if (const char* other = std::getenv("NVTX_INJECTION64_PATH"); other && *other)
      outcome.notes.push_back("NVTX_INJECTION64_PATH named " + std::string(other) +
                              "; while recording, the recorder takes its place");
  }
  std::vector<std::string> command = request.command;
  if (request.application_to_stderr) {
    // The shell only moves a descriptor and becomes the application.
    command.insert(command.begin(), {"/bin/sh", "-c", "exec \"$@\" 1>&2", "kernelift-record"});
    auto& program = request.command[0];
    if (program.find('/') == std::string::npos ? !find_program(program) : access(program.c_str(), X_OK) != 0)
      return environment_error("cannot start " + program + ": no such program");
  }
  if (const char* other = std::getenv("CUDA_INJECTION64_PATH"); other && *other && !request.cuda_library.empty())
    outcome.notes.push_back("CUDA_INJECTION64_PATH named " + std::string(other) +
                            "; while recording, the driver loads the recorder in its place");
  {
    // Killed with us: what goes on alone would write into a recording that nobody finishes.
    ProcessTree tree;
    OutliveInterrupt outlive(tree);
    options.prepare = tree.prepare();
    KERNELIFT_ASSIGN(outcome.application, run_process(command, options));
    outcome.interrupted = outlive.seen() && !outcome.application.ok();
  }

  auto recordings = read_recordings(fresh, outcome);
  if (!outcome.runtime_seen && !outcome.application.ok() && !outcome.interrupted)
    outcome.notes.push_back(request.command[0] + " never used CUDA: " +
                            (request.cuda_library.empty()
                                 ? "it ended before its first call, or was not built for the CPU device"
                                 : "it ended before its first call"));
  if (!recordings.empty()) {
    ProcessRecording* best = &best_of(recordings);
    std::vector<CaptureInfo> infos;
    std::vector<std::string> names;
    for (auto& one : recordings) {
      infos.push_back(one.capture.info()), names.push_back(one.folder.filename().string());
      outcome.profiles.push_back(infos.back().profile);
    }
    outcome.info = sum_of(infos, names, static_cast<size_t>(best - recordings.data()));
    outcome.instances = best->capture.instances();
    if (outcome.instances.empty())
      for (auto& process : outcome.info.processes) process.images = false;
    outcome.stored_bytes = fs::file_size(best->folder / "blobs.klb", code);
    fs::path place = request.config.profile_only ? state / "profile" : state / "capture";
    if (request.config.profile_only || !outcome.instances.empty()) {
      for (auto& other : recordings) {
        if (&other == best) continue;
        fs::create_directories(best->folder / "processes", code);
        KERNELIFT_TRY(rename_folder(other.folder, best->folder / "processes" / other.folder.filename()));
      }
      if (recordings.size() > 1) {
        KERNELIFT_TRY(write_capture_info(best->folder, outcome.info));
        outcome.notes.push_back("the recordings of the other processes are in " + (place / "processes").string());
      }
      outcome.programs = runtime_programs(fresh).size();
      if (outcome.programs > 0) KERNELIFT_TRY(rename_folder(fresh / kProgramsFolder, best->folder / kProgramsFolder));
      KERNELIFT_TRY(write_capture_region(best->folder, request.config.region));
      KERNELIFT_TRY(replace(best->folder, place));
      outcome.folder = place;
    }
  }
  fs::remove_all(fresh, code);
  return outcome;
}

}  // namespace kernelift::record
