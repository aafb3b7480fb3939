// The recorder of NVIDIA GPUs, inside the user's process: CUPTI calls it before and after every launch, memory call and
// module load. It profiles by activity records, takes images of a few launches, and keeps out of the way: whatever goes
// wrong is noted in the capture, recording stops, and the application goes on. Nothing here prints, exits or lets an
// exception out; no lock of ours is held while the driver is asked for something, but for the gate.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

#include "extractor/record/archive.h"
#include "extractor/record/cuda/cupti/activity.h"
#include "extractor/record/cuda/cupti/cupti.h"
#include "extractor/record/cuda/graphs/graph_recorder.h"
#include "extractor/record/cuda/last_touch.h"
#include "extractor/record/cuda/quiet/quiescence.h"
#include "extractor/record/cuda/region_launches.h"
#include "extractor/record/cuda/snapshot.h"
#include "extractor/record/cuda/taking.h"

namespace kernelift::record {

class CudaRecorder {
 public:
  /// `driver` outlives it. Never destroyed once started.
  CudaRecorder(RecordConfig config, const CudaDriver& driver);
  /// From within cuInit. On an Error nothing is recorded, and the capture folder says why.
  Status start(const std::string& cupti_path);
  /// Says in the capture folder why this process is not recorded.
  void refuse(const std::string& why);
  /// Says there what the recording may do to this process, or lacks.
  void warn(const std::string& what, const std::string& why);
  /// At the process's regular end. Launches that come later still (from destructors) are recorded one by one. The end
  /// may come by a signal's handler, on a thread that is in the middle of anything here: then what is written must do.
  void finish();
  /// The application wants CUPTI for itself: off, at once and for good.
  void let_go(const std::string& why);
  /// In a forked child: the parent's files are left to the parent, and CUDA does not survive a fork.
  void forked() { off_ = true; }
  const Cupti& cupti() const { return cupti_; }

  /// CUPTI's entries.
  void driver_call(CUpti_CallbackId cbid, const CUpti_CallbackData& call);
  void resource_event(CUpti_CallbackId cbid, const CUpti_ResourceData& event);
  void kernel_ran(const KernelRun& run);

 private:
  /// A launch whose duration will come, if its kernel is wanted.
  struct Awaited {
    CudaKernel* kernel = nullptr;
    LaunchTraits traits;
    ArgumentSet rewritten = 0;  ///< Where its addresses lead to what other work touched last.
    std::string captured_as;
    bool being_captured = false;  ///< What becomes of it is not known yet.
    double microseconds = -1;     ///< Came before that was known.
  };
  /// All runs of kernels of one name.
  struct NamedProfile {
    std::string mangled, key;
    bool wanted = false;
    LaunchProfile profile;
  };
  struct Pending {
    CapturedInstance instance;
    uint32_t correlation = 0;
    CUcontext context = nullptr;
  };

  Status begin();
  bool enable_callbacks();
  void note_begin(CUpti_CallbackId cbid, const CUpti_CallbackData& call);
  void note_end(CUpti_CallbackId cbid, const CUpti_CallbackData& call);
  void launch_enter(CUpti_CallbackId cbid, const CUpti_CallbackData& call);
  void launch_exit(const CUpti_CallbackData& call);
  void launched_meanwhile(const CudaLaunch& launch, const char* symbol);
  bool take_before(CUpti_CallbackId cbid, const CUpti_CallbackData& call, CudaKernel& kernel, const CudaLaunch& launch,
                   std::vector<std::byte> arguments, uint64_t index);
  void take_after(CUresult launched);
  bool ask_for_the_last_durations();
  void note_passed_over();
  void late_launch(CUcontext context);
  bool graph_enter(CUpti_CallbackId cbid, const CUpti_CallbackData& call);
  void look_into_graphs();
  void time_kernels();
  void give_up_waiting();
  void settle(uint32_t correlation, const CapturedInstance* captured);
  void write_manifest(bool complete);

  RecordConfig config_;
  const CudaDriver& driver_;
  Cupti cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<bool> off_{true}, ending_{false};
  std::atomic<uint64_t> unseen_{0};  ///< Launches by handlers of signals that came in the middle of our code.

  Gate gate_;
  Allocations allocations_;
  Modules modules_;
  LastTouch last_touch_;
  Quiescence quiescence_;
  WorkerThreads workers_;
  KernelPattern pattern_;
  KernelTable kernels_;
  Snapshots snapshots_;
  GraphTable graphs_;
  std::optional<Pending> pending_;  ///< Of the thread that closed the gate.
  std::atomic<bool> graphs_known_{false}, activity_on_{false};

  RegionLaunches region_;

  std::mutex mutex_;  ///< Guards what follows, the archive's notes and the kernels' choosers.
  Archive archive_;
  Taking taking_;
  GraphRecorder graph_recorder_;
  bool wanted_seen_ = false;  ///< A kernel that was asked for, in a launch or in a graph.
  uint64_t others_seen_ = 0;  ///< Timed only because a graph might have held one.
  std::unordered_map<uint32_t, Awaited> awaited_;
  std::unordered_map<const char*, NamedProfile*> by_pointer_;
  std::unordered_map<std::string, std::unique_ptr<NamedProfile>> by_name_;
  std::string device_;
  std::chrono::steady_clock::time_point written_{};
  bool times_kept_ = false;  ///< The file says of some kernel how long it took.
  std::atomic<bool> last_asked_{false};
  std::atomic<uint64_t> heard_{0};  ///< Since then.
  KernelSpans span_;
  double own_seconds_ = 0;  ///< With its waits for the device, which are the application's.
};

}  // namespace kernelift::record
