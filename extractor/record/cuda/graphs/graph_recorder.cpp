// See graph_recorder.h. Whatever goes wrong leaves what has not run to the application's own launch.
#include "extractor/record/cuda/graphs/graph_recorder.h"

#include <algorithm>

#include "core/model/kernel_key.h"
#include "extractor/record/cuda/own_thread.h"

namespace kernelift::record {
namespace {

constexpr size_t kMostTaken = 64;  ///< Nodes, and launches in parts, whose durations are waited for.
constexpr uint64_t kSeveralScalars = ~uint64_t(0);

template <class One>
void add(std::vector<One>& to, One one) {
  if (to.size() >= kMostTaken) to.erase(to.begin());
  to.push_back(std::move(one));
}

std::string in_graphs(const std::string& key) { return key + " in CUDA graphs"; }

}  // namespace

/// EXPECTS: mutex_ is held.
void GraphRecorder::note(const std::string& key, const std::string& why) { archive_.omit(in_graphs(key), why); }

std::shared_ptr<const ExecutableGraph> GraphRecorder::wanted(CUgraphExec graph) const {
  auto known = graphs_.find(graph);
  return known && known->wanted ? known : nullptr;
}

bool GraphRecorder::launch(CUgraphExec handle, std::shared_ptr<const ExecutableGraph> graph, CUstream stream,
                           CUcontext context, uint32_t correlation) {
  OwnCall ours;
  NoFileSizeSignal guard;
  std::optional<Launch> begun;
  bool hopeless = taking_.off();
  try {
    for (size_t step : graph->order) {
      if (!graph->kernels[step] || (begun && !begun->parts.enabled(step))) continue;
      const GraphKernel& node = *graph->kernels[step];
      CudaKernel* kernel = kernels_.find(node.handle, context, node.name.c_str(), false);
      if (!kernel || !kernel->chooser) continue;
      uint64_t index = kernel->launches.fetch_add(1, std::memory_order_relaxed);
      if (!chosen(*graph, node, *kernel, context) || hopeless) continue;
      if (!begun) {
        Launch launch{GraphParts(driver_, graph->steps, handle, stream),
                      graph,
                      context,
                      stream_text(stream),
                      launch_text(kernel->key, index),
                      correlation};
        if (!begin(launch, *kernel, handle)) {
          hopeless = true;
          continue;
        }
        begun.emplace(std::move(launch));
        if (!begun->parts.enabled(step)) continue;  // Switched off by the application itself.
      }
      hopeless = !take(*begun, step, node, *kernel, index);
    }
  } catch (const std::exception&) {}  // Out of memory: the rest of the launch must go on.
  if (!begun) return false;
  launch_.emplace(std::move(*begun));
  note_astray(*launch_, launch_->parts.leave_rest());
  return true;
}

bool GraphRecorder::chosen(const ExecutableGraph& graph, const GraphKernel& node, CudaKernel& kernel,
                           CUcontext context) {
  std::string refusal = graph.refusal.empty() ? node.refusal : graph.refusal;
  if (refusal.empty() && node.context && node.context != context) refusal = "its graph spans several contexts (GPUs)";
  std::lock_guard lock(mutex_);
  Seen& seen = seen_.try_emplace(node.name, Seen{&kernel, {}}).first->second;
  if (seen.kernel != &kernel) seen.kernel = nullptr;
  auto [scalars, fresh] = seen.scalars.try_emplace(node.traits.geometry, node.traits.scalars);
  if (!fresh && scalars->second != node.traits.scalars) scalars->second = kSeveralScalars;
  if (!refusal.empty()) note(kernel.key, refusal);
  return refusal.empty() && !kernel.given_up && kernel.chooser->wants(node.traits) && !archive_.stopped();
}

bool GraphRecorder::begin(Launch& launch, CudaKernel& kernel, CUgraphExec handle) {
  if (!taking_.be_alone(kernel, launch.what, launch.context)) return false;
  // Until now another thread may have destroyed what names its nodes.
  Status switched = done();
  if (graphs_.find(handle) != launch.graph) switched = refused("its graph was changed while it was launched");
  try {
    if (switched.ok()) switched = launch.parts.begin();
    std::lock_guard lock(mutex_);
    if (switched.ok()) add(in_parts_, launch.correlation);
  } catch (const std::exception&) {
    switched = environment_error("out of memory");
  }
  if (switched.ok()) return true;
  note_astray(launch, launch.parts.restore());
  taking_.be_one_of_many();
  std::lock_guard lock(mutex_);
  archive_.omit(launch.what, switched.error().message);
  return false;
}

void GraphRecorder::note_astray(const Launch& launch, const std::vector<size_t>& steps) noexcept try {
  if (!steps.empty()) taking_.stop();
  std::lock_guard lock(mutex_);
  for (size_t step : steps) {
    auto& kernel = launch.graph->kernels[step];
    archive_.omit(launch.what,
                  "node " + std::to_string(step) + " of its graph" +
                      (kernel ? " (" + canonical_key(kernel->name) + ")" : "") +
                      " could not be switched back as the application had it: the application's own results may be "
                      "wrong from here on, and no more images are taken");
  }
} catch (const std::exception&) {}  // Out of memory: the gate must be opened all the same.

/// False: no more of this launch.
bool GraphRecorder::take(Launch& launch, size_t step, const GraphKernel& node, CudaKernel& kernel, uint64_t index) {
  std::string what = launch_text(kernel.key, index);
  auto trouble = [&](const Status& status) {
    if (status.ok()) return false;
    std::lock_guard lock(mutex_);
    archive_.omit(what, status.error().message);
    return true;
  };
  try {
    double known_us = 0;
    {
      std::lock_guard lock(mutex_);
      known_us = kernel.longest_us;
    }
    if (trouble(launch.parts.run_before(step))) return false;
    if (!taking_.wait(kernel, what, launch.context, 0)) return false;
    auto settings = node.settings;
    settings.stream = launch.stream;
    auto instance = taking_.before({kernel, index, node.geometry, node.arguments, std::move(settings)}, launch.context);
    if (!instance) return true;
    if (trouble(launch.parts.run(step))) return false;
    if (!taking_.after(kernel, *instance, launch.context, known_us)) return false;
    std::lock_guard lock(mutex_);
    kernel.chooser->captured(node.traits, instance->id, changes_memory(*instance), instance_bytes(*instance));
    auto same_kernel = std::count_if(launch.graph->kernels.begin(), launch.graph->kernels.end(), [&](auto& other) {
      return other && other->name == node.name && other->geometry == node.geometry;
    });
    if (same_kernel > 1) return true;  // Their records cannot be told apart.
    add(taken_, {launch.correlation, &kernel, node.traits, instance->id});
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void GraphRecorder::launched() {
  OwnCall ours;
  note_astray(*launch_, launch_->parts.restore());
  launch_.reset();
}

void GraphRecorder::kernel_ran(const KernelRun& run, const std::string& key) {
  auto found = seen_.find(run.name);
  if (found == seen_.end()) {
    note(key, graphs_.why_unfollowed());
    return;
  }
  Seen& seen = found->second;
  if (!seen.kernel || !seen.kernel->chooser) return;
  seen.kernel->longest_us = std::max(seen.kernel->longest_us, run.microseconds);
  auto scalars = seen.scalars.find(run.geometry);
  LaunchTraits traits{run.geometry, scalars == seen.scalars.end() ? kSeveralScalars : scalars->second};
  // Of a launch that was run in parts: the node's own record. Its other nodes were held up too, for images of others.
  auto own = std::find_if(taken_.begin(), taken_.end(), [&](auto& one) {
    return one.correlation == run.correlation && one.kernel == seen.kernel && one.traits.geometry == run.geometry;
  });
  bool in_parts = std::find(in_parts_.begin(), in_parts_.end(), run.correlation) != in_parts_.end();
  std::string id = own != taken_.end() ? own->id : in_parts ? "in parts" : "";
  if (own != taken_.end()) traits = own->traits;
  seen.kernel->chooser->note(traits, run.microseconds, id);
}

}  // namespace kernelift::record
