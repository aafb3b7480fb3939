// See cuda_recorder.h. The path of a launch that nobody wants: one look-up in the thread's own table and two additions
// at the gate. Of one that is wanted: its arguments are read to tell it from others; few get as far as images.
#include "extractor/record/cuda/cuda_recorder.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>

#include "core/model/kernel_key.h"
#include "extractor/record/cuda/call_part.h"
#include "extractor/record/cuda/device_text.h"
#include "extractor/record/cuda/own_thread.h"
#include "extractor/record/cuda/quiet/signals.h"
#include "extractor/record/process_rank.h"

namespace kernelift::record {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);  ///< How long a process's end may be held up for a last kernel.
constexpr auto kManifestEvery = std::chrono::seconds(2);
constexpr auto kManifestAfterImages = std::chrono::milliseconds(500);
constexpr size_t kMostAwaited = 1 << 18;
constexpr size_t kMostThreads = 12;
constexpr uint64_t kEnoughOthers = 4096;

/// Marks in CUPTI's word per call, that ties a call's end to its begin.
constexpr uint64_t kInside = 0x6b6c5f696e736964, kCapturing = 0x6b6c5f6361707475, kInParts = 0x6b6c5f7061727473;

constexpr size_t kMostCalls = 2048;
std::array<CallPart, kMostCalls> parts{};

size_t spare_threads() {
  size_t cores = std::thread::hardware_concurrency();
  return std::clamp<size_t>(cores > 2 ? cores - 2 : 1, 1, kMostThreads);
}

/// Not held if it is not to be had: this very thread may hold it, below the signal's handler that ends the process.
std::unique_lock<std::mutex> lock_for_the_end(std::mutex& mutex) {
  std::unique_lock lock(mutex, std::defer_lock);
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!lock.try_lock() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return lock;
}

CudaRecorder* the_recorder = nullptr;

}  // namespace

CudaRecorder::CudaRecorder(RecordConfig config, const CudaDriver& driver)
    : config_(for_this_process(std::move(config))),
      driver_(driver),
      quiescence_(driver),
      workers_(spare_threads()),
      pattern_(config_),
      kernels_(config_, pattern_, driver, modules_),
      snapshots_(driver, allocations_, modules_, workers_),
      graphs_(driver, pattern_, kernels_, allocations_, modules_),
      region_(config_.region),
      archive_(config_.folder),
      taking_(config_, gate_, quiescence_, snapshots_, archive_, mutex_),
      graph_recorder_(driver, graphs_, kernels_, taking_, archive_, mutex_) {
  if (pattern_.broken()) archive_.omit("all kernels", "'" + config_.kernel + "' is not a regular expression");
}

void CudaRecorder::refuse(const std::string& why) {
  std::lock_guard lock(mutex_);
  archive_.omit("this process", why);
  write_manifest(true);
}

void CudaRecorder::warn(const std::string& what, const std::string& why) {
  std::lock_guard lock(mutex_);
  archive_.omit(what, why);
}

Status CudaRecorder::start(const std::string& cupti_path) {
  KERNELIFT_ASSIGN(cupti_, Cupti::open(cupti_path));
  the_recorder = this;
  CUptiResult result = cupti_.cuptiSubscribe(
      &subscriber_,
      [](void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
        if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
          the_recorder->driver_call(cbid, *static_cast<const CUpti_CallbackData*>(data));
        else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
          the_recorder->resource_event(cbid, *static_cast<const CUpti_ResourceData*>(data));
      },
      nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return refused(kCuptiIsTaken);
  if (result != CUPTI_SUCCESS) return environment_error("CUPTI does not let us in: " + cupti_.text(result));
  Status begun = begin();
  // The application may want to profile itself: nobody else may hold CUPTI then.
  if (!begun.ok()) cupti_.cuptiUnsubscribe(subscriber_);
  return begun;
}

Status CudaRecorder::begin() {
  // Of a profile, activity records say it all but for the range in which a kernel was launched.
  if ((!config_.profile_only || region_.watching()) && !enable_callbacks())
    return environment_error("CUPTI does not report the driver's calls");
  KERNELIFT_TRY(prepare_activity(cupti_, [](const KernelRun& run) { the_recorder->kernel_ran(run); }));
  if (config_.profile_only) {
    KERNELIFT_TRY(start_activity(cupti_));
    activity_on_ = true;
  }
  off_ = false;
  return done();
}

bool CudaRecorder::enable_callbacks() {
  bool good = true;
  auto enable = [&](CUpti_CallbackDomain domain, uint32_t cbid) {
    return cupti_.cuptiEnableCallback(1, subscriber_, domain, cbid) == CUPTI_SUCCESS;
  };
  for (uint32_t cbid = 1; cbid < kMostCalls; ++cbid) {
    const char* name = nullptr;
    if (cupti_.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) != CUPTI_SUCCESS || !name) continue;
    CallPart part = part_of(cbid, name);
    if (part == CallPart::None) continue;
    parts[cbid] = part;
    if (!enable(CUPTI_CB_DOMAIN_DRIVER_API, cbid) && part == CallPart::Launch) good = false;
  }
  for (uint32_t cbid : {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_CREATED,
                        CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, CUPTI_CBID_RESOURCE_MODULE_LOADED,
                        CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING})
    good &= enable(CUPTI_CB_DOMAIN_RESOURCE, cbid);
  return good;
}

void CudaRecorder::resource_event(CUpti_CallbackId cbid, const CUpti_ResourceData& event) {
  if (off_ || (inside_recorder() && !our_own_call())) return;
  Inside inside;
  try {
    switch (cbid) {
      case CUPTI_CBID_RESOURCE_STREAM_CREATED:
        if (!our_own_call()) quiescence_.stream_created(event.context, event.resourceHandle.stream);
        break;
      case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
        quiescence_.stream_gone(event.context, event.resourceHandle.stream);
        break;
      case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        quiescence_.context_gone(event.context);
        snapshots_.context_gone(event.context);
        allocations_.context_gone(event.context);
        break;
      case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING: {
        auto& module = *static_cast<const CUpti_ModuleResourceData*>(event.resourceDescriptor);
        if (cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) modules_.unloaded(module.moduleId);
        else if (module.pCubin)
          modules_.loaded(module.moduleId, {reinterpret_cast<const std::byte*>(module.pCubin), module.cubinSize});
        break;
      }
      default: break;
    }
  } catch (...) {
    off_ = true;
  }
}

void CudaRecorder::driver_call(CUpti_CallbackId cbid, const CUpti_CallbackData& call) {
  if (cbid >= kMostCalls || our_own_call()) return;
  bool before = call.callbackSite == CUPTI_API_ENTER;
  if (inside_recorder()) {
    if (before && (parts[cbid] == CallPart::Launch || parts[cbid] == CallPart::GraphLaunch)) ++unseen_;
    return;
  }
  try {
    if (before) {
      *call.correlationData = 0;
      if (off_) return;
      if (!gate_.enter()) {
        unseen_ += parts[cbid] == CallPart::Launch || parts[cbid] == CallPart::GraphLaunch;
        return;
      }
      *call.correlationData = kInside;
      Inside inside;
      if (parts[cbid] == CallPart::Launch) launch_enter(cbid, call);
      else note_begin(cbid, call);
      return;
    }
    Inside inside;
    if (*call.correlationData == kCapturing) {
      launch_exit(call);
      if (ending_) late_launch(call.context);
      return;
    }
    if (*call.correlationData == kInParts) {
      ClosedGate closed(gate_);
      graph_recorder_.launched();
      return;
    }
    if (*call.correlationData != kInside) return;
    note_end(cbid, call);
    if (parts[cbid] == CallPart::Launch && ending_) late_launch(call.context);
  } catch (...) {
    off_ = true;
  }
}

void CudaRecorder::note_begin(CUpti_CallbackId cbid, const CUpti_CallbackData& call) {
  switch (parts[cbid]) {
    case CallPart::GraphLaunch:
      if (!region_.takes(call.correlationId)) return;
      if (graph_enter(cbid, call)) *call.correlationData = kInParts;
      return;
    case CallPart::CaptureBegin:
      if (!quiescence_.capturing()) look_into_graphs();  // While a stream captures, nothing can be switched on.
      return;
    case CallPart::Write:
      if (!pattern_.wants_nothing() && !quiescence_.capturing())
        last_touch_.written(*static_cast<const CUdeviceptr*>(call.functionParams));
      return;
    case CallPart::Memory: return note_memory_call(cbid, call.functionParams, call.context, true, false, allocations_);
    case CallPart::Unload:
      return modules_.handle_gone(*static_cast<void* const*>(call.functionParams));  // Their one argument.
    case CallPart::Graph: return graphs_.note_call(cbid, call.functionParams, true, false, quiescence_.capturing());
    default: return;
  }
}

/// The thread is outside the gate then, whatever happens.
void CudaRecorder::note_end(CUpti_CallbackId cbid, const CUpti_CallbackData& call) {
  struct Leaving {
    Gate& gate;
    ~Leaving() { gate.leave(); }
  } leaving{gate_};
  bool succeeded = *static_cast<const CUresult*>(call.functionReturnValue) == CUDA_SUCCESS;
  switch (parts[cbid]) {
    case CallPart::Memory:
      return note_memory_call(cbid, call.functionParams, call.context, false, succeeded, allocations_);
    case CallPart::Graph:
      return graphs_.note_call(cbid, call.functionParams, false, succeeded, quiescence_.capturing());
    // All these begin with the stream.
    case CallPart::CaptureBegin:
      if (succeeded) quiescence_.capture_begun(*static_cast<const CUstream*>(call.functionParams));
      return;
    case CallPart::Load:
      if (succeeded) {  // All these begin with where the handle goes and where the code comes from.
        auto& load = *static_cast<const cuModuleLoadData_params*>(call.functionParams);
        modules_.code_given(*load.module, load.image);
      }
      return;
    case CallPart::CaptureEnd:  // Asked for by a thread that may not end it, it goes on; any other failure ends it.
      if (*static_cast<const CUresult*>(call.functionReturnValue) != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        quiescence_.capture_ended(*static_cast<const CUstream*>(call.functionParams));
      return;
    default: return;
  }
}

void CudaRecorder::launch_enter(CUpti_CallbackId cbid, const CUpti_CallbackData& call) {
  if (!region_.takes(call.correlationId)) return;
  bool capturing = quiescence_.capturing();
  CudaKernel* found;
  {
    OwnCall ours;
    found = kernels_.find(launched_function(cbid, call.functionParams), call.context, call.symbolName, capturing);
  }
  CudaLaunch launch = decode_launch(cbid, call.functionParams);
  if (!found) return launched_meanwhile(launch, call.symbolName);
  CudaKernel& kernel = *found;
  // Neither one of nothing, which the driver refuses, nor one into a stream that captures is an execution.
  if (launch.geometry.grid.count() == 0 || launch.geometry.block.count() == 0) return;
  if (capturing && quiescence_.capturing(launch.stream)) return;
  uint64_t index = kernel.launches.fetch_add(1, std::memory_order_relaxed);
  if (!kernel.wanted || taking_.off() || kernel.given_up) return;
  if (capturing) return launched_meanwhile(launch, call.symbolName);
  // A kernel of a library finds its context by the stream alone; its memory cannot be read so.
  if (!kernel.refusal.empty() || !call.context) {
    if (kernel.refusal_said.exchange(true)) return;
    std::lock_guard lock(mutex_);
    archive_.omit(kernel.key, call.context ? kernel.refusal : "it was launched by a thread without a current context");
    return;
  }
  auto arguments = pack_arguments(launch, kernel.layout);
  if (!arguments.ok()) {
    std::lock_guard lock(mutex_);
    archive_.omit(kernel.key, arguments.error().message);
    return;
  }
  auto live = allocations_.map(modules_);
  auto addresses = pointer_offsets(*arguments, *live);
  LaunchTraits traits{launch.geometry, scalar_hash(*arguments, addresses)};
  ArgumentSet rewritten = last_touch_.launched(&kernel, *arguments, addresses);
  bool chosen = false;
  {
    OwnCall ours;
    time_kernels();
  }
  {
    std::lock_guard lock(mutex_);
    wanted_seen_ = true;
    if (awaited_.size() >= kMostAwaited) give_up_waiting();
    chosen = kernel.chooser->wants(traits) && !archive_.stopped();
    awaited_[call.correlationId] = {&kernel, traits, rewritten, "", chosen, -1};
  }
  if (!chosen) return;
  if (take_before(cbid, call, kernel, launch, std::move(*arguments), index)) *call.correlationData = kCapturing;
  else {
    if (quiescence_.capturing()) kernels_.pass_over(call.symbolName);  // Since just now.
    settle(call.correlationId, nullptr);
  }
}

void CudaRecorder::launched_meanwhile(const CudaLaunch& launch, const char* symbol) {
  if (quiescence_.capturing(launch.stream)) return;  // No execution.
  kernels_.pass_over(symbol);
}

/// Nothing more will be told of the launches that were seen. Those that are captured, or are being captured, stay.
/// EXPECTS: mutex_ is held.
void CudaRecorder::give_up_waiting() {
  std::erase_if(awaited_,
                [](auto& launch) { return !launch.second.being_captured && launch.second.captured_as.empty(); });
  archive_.omit("durations", "those of many launches never came from CUPTI");
}

/// EXPECTS: mutex_ is not held: CUPTI may hand over records meanwhile.
void CudaRecorder::time_kernels() {
  if (activity_on_ || activity_on_.exchange(true)) return;
  auto status = start_activity(cupti_);
  if (status.ok()) return;
  std::lock_guard lock(mutex_);
  archive_.omit("durations", status.error().message);
}

/// What kernels a graph holds is seen by timing them: for some thousands of them, unless one is found that is wanted.
void CudaRecorder::look_into_graphs() {
  if (graphs_known_ || pattern_.wants_nothing()) return;
  OwnCall ours;
  time_kernels();
  {
    std::lock_guard lock(mutex_);
    graphs_known_ = wanted_seen_ || others_seen_ >= kEnoughOthers;
    if (!graphs_known_ || wanted_seen_) return;
    activity_on_ = false;
  }
  stop_activity(cupti_);
}

bool CudaRecorder::graph_enter(CUpti_CallbackId cbid, const CUpti_CallbackData& call) {
  look_into_graphs();
  if (pattern_.wants_nothing() || quiescence_.capturing() || !call.context) return false;
  auto& launch = *static_cast<const cuGraphLaunch_params*>(call.functionParams);
  auto graph = graph_recorder_.wanted(launch.hGraph);
  if (!graph) return false;
  OwnTime timer(own_seconds_, &mutex_);
  {
    OwnCall ours;
    time_kernels();
    std::lock_guard lock(mutex_);
    wanted_seen_ = true;
  }
  bool per_thread = cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
  CUstream stream = !launch.hStream && per_thread ? CU_STREAM_PER_THREAD : launch.hStream;
  return graph_recorder_.launch(launch.hGraph, std::move(graph), stream, call.context, call.correlationId);
}

bool CudaRecorder::take_before(CUpti_CallbackId cbid, const CUpti_CallbackData& call, CudaKernel& kernel,
                               const CudaLaunch& launch, std::vector<std::byte> arguments, uint64_t index) {
  OwnCall ours;
  OwnTime timer(own_seconds_, &mutex_);
  NoFileSizeSignal guard;
  if (!taking_.be_alone(kernel, launch_text(kernel.key, index), call.context)) return false;
  std::optional<CapturedInstance> instance;
  try {
    instance = taking_.before({kernel, index, launch.geometry, std::move(arguments), decode_settings(cbid, launch)},
                              call.context);
  } catch (const std::exception&) {}
  if (!instance) {
    taking_.be_one_of_many();
    return false;
  }
  pending_ = Pending{std::move(*instance), call.correlationId, call.context};
  return true;
}

void CudaRecorder::launch_exit(const CUpti_CallbackData& call) {
  ClosedGate closed(gate_);
  try {
    take_after(*static_cast<const CUresult*>(call.functionReturnValue));
  } catch (...) {
    off_ = true;
  }
  pending_.reset();
}

void CudaRecorder::take_after(CUresult launched) {
  OwnCall ours;
  OwnTime timer(own_seconds_, &mutex_);
  NoFileSizeSignal guard;
  CapturedInstance& instance = pending_->instance;
  uint32_t correlation = pending_->correlation;
  CudaKernel* kernel = nullptr;
  double known_us = 0;
  {
    std::lock_guard lock(mutex_);
    if (auto awaited = awaited_.find(correlation); awaited != awaited_.end())
      kernel = awaited->second.kernel, known_us = kernel->longest_us;
    if (launched != CUDA_SUCCESS)
      archive_.omit(launch_text(instance.kernel, instance.launch_index),
                    "the driver did not launch it: " + cuda_error_text(driver_, launched));
  }
  if (launched != CUDA_SUCCESS || !kernel || !taking_.after(*kernel, instance, pending_->context, known_us))
    return settle(correlation, nullptr);
  settle(correlation, &instance);
  std::lock_guard lock(mutex_);
  // The instance is safe already; its share of the time can wait where hundreds of kernels come one after another.
  if (std::chrono::steady_clock::now() - written_ >= kManifestAfterImages) write_manifest(false);
}

void CudaRecorder::settle(uint32_t correlation, const CapturedInstance* captured) {
  std::lock_guard lock(mutex_);
  auto found = awaited_.find(correlation);
  if (found == awaited_.end()) return;
  Awaited& awaited = found->second;
  if (captured)
    awaited.captured_as = captured->id,
    awaited.kernel->chooser->captured(awaited.traits, captured->id, changes_memory(*captured),
                                      instance_bytes(*captured));
  awaited.being_captured = false;
  if (awaited.microseconds < 0) return;
  awaited.kernel->chooser->note(awaited.traits, awaited.microseconds, awaited.captured_as, awaited.rewritten);
  awaited_.erase(found);
}

void CudaRecorder::kernel_ran(const KernelRun& run) {
  if (off_ || (inside_recorder() && !our_own_call())) return;
  Inside inside;
  if (last_asked_) ++heard_;
  try {
    std::lock_guard lock(mutex_);
    if (!run.name) {
      // The first are kept at once: what follows may be minutes of the application's without a launch, and its end.
      // Whoever asks for the last ones writes them itself: a slow disk must not keep CUPTI busy while the process ends.
      if (!last_asked_ && (!times_kept_ || std::chrono::steady_clock::now() - written_ >= kManifestEvery))
        write_manifest(false);
      return;
    }
    auto occurrence = region_.occurrence_of(run.correlation, run.in_graph);
    if (!occurrence) return;
    NamedProfile*& profile = by_pointer_[run.name];
    if (!profile || profile->mangled != run.name) {
      auto& slot = by_name_[run.name];
      if (!slot) {
        slot = std::make_unique<NamedProfile>();
        slot->mangled = run.name, slot->key = canonical_key(run.name);
        slot->wanted = pattern_.wants(slot->key, slot->mangled);
      }
      profile = slot.get();
    }
    profile->profile.add(run.geometry, run.microseconds);
    if (run.end_seconds > run.start_seconds) span_.add(*occurrence, run.start_seconds, run.end_seconds);
    if (device_.empty()) device_ = device_text(driver_, int(run.device));
    if (!profile->wanted) {
      ++others_seen_;
      return;
    }
    wanted_seen_ = true;
    if (run.in_graph) return graph_recorder_.kernel_ran(run, profile->key);
    auto found = awaited_.find(run.correlation);
    if (found == awaited_.end()) return;
    Awaited& awaited = found->second;
    if (awaited.captured_as.empty() && !awaited.being_captured)
      awaited.kernel->longest_us = std::max(awaited.kernel->longest_us, run.microseconds);
    if (awaited.being_captured) {
      awaited.microseconds = run.microseconds;
      return;
    }
    awaited.kernel->chooser->note(awaited.traits, run.microseconds, awaited.captured_as, awaited.rewritten);
    awaited_.erase(found);
  } catch (...) {
    off_ = true;
  }
}

/// EXPECTS: mutex_ is held.
void CudaRecorder::write_manifest(bool complete) {
  written_ = std::chrono::steady_clock::now();
  times_kept_ = !by_name_.empty();
  NoFileSizeSignal guard;
  CaptureInfo info;
  if (device_.empty()) device_ = device_text(driver_, 0);
  info.device = device_;
  std::vector<KernelProfile> profiles;
  for (auto& [_, named] : by_name_) {
    KernelProfile profile = named->profile.summary();
    profile.key = named->key, profile.mangled = named->mangled;
    profiles.push_back(std::move(profile));
  }
  for (CudaKernel* kernel : kernels_.all()) {
    if (!by_name_.contains(kernel->mangled)) {  // Launched but not timed: nothing matched, so nothing was measured.
      KernelProfile profile;
      profile.key = kernel->key, profile.mangled = kernel->mangled, profile.count = kernel->launches;
      profiles.push_back(std::move(profile));
    }
    if (kernel->chooser) kernel->chooser->report(info);
  }
  info.profile = merge_profiles(std::move(profiles));
  if (info.profile.empty() && !off_ && !region_.missed()) return;  // Nothing was launched: its folder stays empty.
  // In a call of ours that is not over, the wait is counted already and the call is not.
  const double own = std::max(0.0, own_seconds_ - quiescence_.waited_seconds());
  info.span_seconds = std::max(0.0, span_.seconds() - own);
  archive_.write_manifest(std::move(info), own, complete);
}

void CudaRecorder::finish() {
  if (off_) return;
  bool interrupted = our_own_call() || inside_recorder();
  OwnCall ours;
  try {
    if (gate_.closed_by_this_thread()) interrupted = true, off_ = true, gate_.open();
    if (!interrupted && lock_for_the_end(mutex_)) {
      bool answered = ask_for_the_last_durations();
      ending_ = answered;
      if (!answered) off_ = true;
      if (auto lock = lock_for_the_end(mutex_)) {
        if (!answered)
          archive_.omit("durations", "those of the last launches could not be asked for when the process ended");
        note_passed_over();
        if (region_.missed()) archive_.omit(NvtxRanges::title(), NvtxRanges::missed());
        if (unseen_ > 0)
          archive_.omit("launches by a signal's handler",
                        std::to_string(unseen_) + " came in the middle of recording another");
        return write_manifest(true);
      }
    }
    off_ = true;
  } catch (...) {
    off_ = true;
  }
}

/// EXPECTS: mutex_ is held.
void CudaRecorder::note_passed_over() {
  auto names = kernels_.passed_over();
  for (CudaKernel* kernel : kernels_.all())
    if (kernel->chooser && kernel->chooser->has_instances()) names.erase(kernel->mangled);
  for (auto& name : names)
    archive_.omit(canonical_key(name),
                  "it was launched while a stream was being captured into a graph, when no memory can be read");
}

/// Not where a signal's handler ends the process: what it interrupted may hold locks of CUPTI's and the driver's. Other
/// threads may be stuck in there, too, so it is a thread of our own that asks. It is waited for while it is told
/// anything: a process that goes on with CUPTI busy may not get to its end.
bool CudaRecorder::ask_for_the_last_durations() {
  if (in_a_signals_handler()) return false;
  last_asked_ = true;
  auto answered = std::make_shared<std::atomic<bool>>(false);
  bool started = start_own_thread([this, answered] {
    if (activity_on_) flush_activity(cupti_);
    if (config_.profile_only) enable_callbacks();
    *answered = true;
  });
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (uint64_t heard = 0; started && !*answered && std::chrono::steady_clock::now() < deadline;) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (uint64_t now = heard_; now != heard) heard = now, deadline = std::chrono::steady_clock::now() + kPatience;
  }
  return *answered;
}

void CudaRecorder::late_launch(CUcontext context) {
  OwnCall ours;
  if (!activity_on_ || quiescence_.capturing()) return;
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  if (!gate_.enter()) return;
  if (gate_.close(deadline)) {
    ClosedGate closed(gate_);
    quiescence_.wait(context, deadline);
  } else {
    gate_.leave();
  }
  flush_activity(cupti_);
  std::lock_guard lock(mutex_);
  write_manifest(true);
}

void CudaRecorder::let_go(const std::string& why) {
  if (off_) return;
  OwnCall ours;
  bool inside = gate_.enter();  // After an image that is being taken.
  try {
    if (activity_on_) stop_activity(cupti_);
    off_ = true;
    cupti_.cuptiUnsubscribe(subscriber_);
    std::lock_guard lock(mutex_);
    archive_.omit("everything from here on", why);
    write_manifest(true);
  } catch (...) {
    off_ = true;
  }
  if (inside) gate_.leave();
}

}  // namespace kernelift::record
