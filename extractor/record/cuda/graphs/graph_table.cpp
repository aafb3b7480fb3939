// See graph_table.h. The driver is asked without the table's lock: it may load a module for that, which is told to us
// on this very thread.
#include "extractor/record/cuda/graphs/graph_table.h"

#include <cupti.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "extractor/record/cuda/own_thread.h"

namespace kernelift::record {
namespace {

#define KL_CBID(name) CUPTI_DRIVER_TRACE_CBID_##name
#define KL_PARAMETERS(name) (*static_cast<const name##_params*>(parameters))

constexpr const char* kDestroyed =
    "the graph that its executable graph was made from has been destroyed, so its nodes cannot be named to the driver";
constexpr const char* kNodeDestroyed = "a node of the graph that its executable graph was made from has been destroyed";
constexpr const char* kBusy = "another stream was being captured when its graph was made or updated";

/// Nodes that can be switched off, and those that need not be; of all others why not.
std::string refusal_of(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY: return "";
    case CU_GRAPH_NODE_TYPE_HOST: return "its graph holds a host function";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "its graph holds a child graph";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "its graph waits for or records an event";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "its graph allocates or frees memory";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return "its graph holds a conditional node";
    default: return "its graph holds a node of type " + std::to_string(int(type));
  }
}

std::vector<size_t> order_of(const std::vector<GraphStep>& steps) {
  std::vector<size_t> waits, order;
  std::vector<std::vector<size_t>> then(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    waits.push_back(steps[i].after.size());
    for (size_t one : steps[i].after) then[one].push_back(i);
  }
  for (size_t i = 0; i < steps.size(); ++i)
    if (waits[i] == 0) order.push_back(i);
  for (size_t at = 0; at < order.size(); ++at)
    for (size_t next : then[order[at]])
      if (--waits[next] == 0) order.push_back(next);
  return order;
}

}  // namespace

bool is_graph_call(uint32_t cbid) {
  switch (cbid) {
    case KL_CBID(cuGraphInstantiate):
    case KL_CBID(cuGraphInstantiate_v2):
    case KL_CBID(cuGraphInstantiateWithFlags):
    case KL_CBID(cuGraphInstantiateWithParams):
    case KL_CBID(cuGraphInstantiateWithParams_ptsz):
    case KL_CBID(cuGraphExecUpdate):
    case KL_CBID(cuGraphExecUpdate_v2):
    case KL_CBID(cuGraphExecKernelNodeSetParams):
    case KL_CBID(cuGraphExecKernelNodeSetParams_v2):
    case KL_CBID(cuGraphExecNodeSetParams):
    case KL_CBID(cuGraphDestroy):
    case KL_CBID(cuGraphDestroyNode):
    case KL_CBID(cuGraphExecDestroy): return true;
    default: return false;
  }
}

void GraphTable::note_call(uint32_t cbid, const void* parameters, bool before, bool succeeded, bool busy) {
  if (pattern_.wants_nothing()) return;
  if (before) {
    std::lock_guard lock(turn_);
    if (cbid == KL_CBID(cuGraphExecDestroy)) graphs_.erase(KL_PARAMETERS(cuGraphExecDestroy).hGraphExec);
    for (auto& [_, graph] : graphs_) {
      if (cbid == KL_CBID(cuGraphDestroy) && graph->source == KL_PARAMETERS(cuGraphDestroy).hGraph)
        own(graph).refusal = kDestroyed;
      else if (cbid == KL_CBID(cuGraphDestroyNode) &&
               std::any_of(graph->steps.begin(), graph->steps.end(),
                           [&](auto& step) { return step.handle == KL_PARAMETERS(cuGraphDestroyNode).hNode; }))
        own(graph).refusal = kNodeDestroyed;
    }
    return;
  }
  switch (cbid) {
    case KL_CBID(cuGraphInstantiate):
    case KL_CBID(cuGraphInstantiate_v2):
    case KL_CBID(cuGraphInstantiateWithFlags):
    case KL_CBID(cuGraphInstantiateWithParams):
    case KL_CBID(cuGraphInstantiateWithParams_ptsz): {
      if (!succeeded) return;
      auto& call = KL_PARAMETERS(cuGraphInstantiateWithFlags);  // All begin alike.
      uint64_t flags = 0;
      if (cbid == KL_CBID(cuGraphInstantiateWithFlags)) flags = call.flags;
      else if (cbid == KL_CBID(cuGraphInstantiateWithParams) || cbid == KL_CBID(cuGraphInstantiateWithParams_ptsz))
        flags = KL_PARAMETERS(cuGraphInstantiateWithParams).instantiateParams->flags;
      return made(*call.phGraphExec, call.hGraph, flags, busy);
    }
    case KL_CBID(cuGraphExecUpdate):
    case KL_CBID(cuGraphExecUpdate_v2): {
      auto& call = KL_PARAMETERS(cuGraphExecUpdate_v2);  // Both begin alike.
      return updated(call.hGraphExec, call.hGraph, succeeded, busy);
    }
    case KL_CBID(cuGraphExecKernelNodeSetParams): {
      auto& call = KL_PARAMETERS(cuGraphExecKernelNodeSetParams);
      CUDA_KERNEL_NODE_PARAMS to{};
      std::memcpy(&to, call.nodeParams, sizeof *call.nodeParams);  // The newer structure only appends.
      if (succeeded) kernel_set(call.hGraphExec, call.hNode, to, busy);
      return;
    }
    case KL_CBID(cuGraphExecKernelNodeSetParams_v2): {
      auto& call = KL_PARAMETERS(cuGraphExecKernelNodeSetParams_v2);
      if (succeeded) kernel_set(call.hGraphExec, call.hNode, *call.nodeParams, busy);
      return;
    }
    case KL_CBID(cuGraphExecNodeSetParams): {
      auto& call = KL_PARAMETERS(cuGraphExecNodeSetParams);
      if (!succeeded || call.nodeParams->type != CU_GRAPH_NODE_TYPE_KERNEL) return;
      CUDA_KERNEL_NODE_PARAMS to{};
      static_assert(sizeof to == sizeof call.nodeParams->kernel, "one structure by two names");
      std::memcpy(&to, &call.nodeParams->kernel, sizeof to);
      return kernel_set(call.hGraphExec, call.hNode, to, busy);
    }
    default: return;
  }
}

std::shared_ptr<const ExecutableGraph> GraphTable::find(CUgraphExec graph) const {
  std::lock_guard lock(turn_);
  auto found = graphs_.find(graph);
  return found == graphs_.end() ? nullptr : found->second;
}

void GraphTable::refuse(CUgraphExec graph, const std::string& why) {
  std::lock_guard lock(turn_);
  if (auto found = graphs_.find(graph); found != graphs_.end() && found->second->refusal.empty())
    own(found->second).refusal = why;
}

void GraphTable::made(CUgraphExec graph, CUgraph from, uint64_t flags, bool busy) {
  Graph fresh;
  if (!busy) fresh = read(from);
  std::string refusal = busy     ? kBusy
                        : !fresh ? "the driver does not tell its graph's nodes; NVIDIA's driver 550 or newer does"
                                 : fresh->refusal;
  bool wanted = fresh && fresh->wanted;
  if (!wanted) fresh = std::make_shared<ExecutableGraph>();  // Nothing of it will be asked for.
  if (wanted && refusal.empty() && (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH))
    refusal = "its graph may be launched by the device";
  fresh->source = from, fresh->refusal = refusal;
  std::lock_guard lock(turn_);
  if (!wanted && !refusal.empty()) why_unfollowed_ = refusal;
  graphs_[graph] = std::move(fresh);
}

std::string GraphTable::why_unfollowed() const {
  std::lock_guard lock(turn_);
  return why_unfollowed_;
}

void GraphTable::updated(CUgraphExec graph, CUgraph from, bool succeeded, bool busy) {
  auto known = find(graph);
  if (!known || !known->wanted) return;  // Some applications update a graph before every launch.
  if (!succeeded) return refuse(graph, "an update of its executable graph failed, which leaves open what it holds");
  if (busy) return refuse(graph, kBusy);
  Graph fresh = read(from);
  if (!fresh) return refuse(graph, "the driver does not tell the nodes of a graph that its own was updated with");
  // The driver pairs nodes by their edges, in the order these were added; equal lists leave no other pairing.
  bool alike = known->types == fresh->types;
  for (size_t i = 0; alike && i < known->steps.size(); ++i) alike = known->steps[i].after == fresh->steps[i].after;
  if (!alike) return refuse(graph, "its graph was updated with one whose nodes come in another order");
  // The nodes' names to the driver stay those of the first graph.
  for (size_t i = 0; i < fresh->steps.size(); ++i) fresh->steps[i].handle = known->steps[i].handle;
  fresh->source = known->source;
  if (fresh->refusal.empty()) fresh->refusal = known->refusal;
  std::lock_guard lock(turn_);
  auto held = graphs_.find(graph);
  if (held == graphs_.end()) return;
  // Meanwhile another thread may have destroyed what names its nodes.
  if (held->second != known)
    fresh->refusal = !held->second->refusal.empty() ? held->second->refusal
                                                    : "its executable graph was changed while it was updated";
  held->second = std::move(fresh);
}

void GraphTable::kernel_set(CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& to, bool busy) {
  auto known = find(graph);
  if (!known || known->steps.empty()) return;
  if (busy) return refuse(graph, kBusy);
  auto step = std::find_if(known->steps.begin(), known->steps.end(), [&](auto& one) { return one.handle == node; });
  if (step == known->steps.end()) return refuse(graph, "a node of its graph was updated that is not known");
  auto kernel = read_kernel(to, node);
  size_t place = size_t(step - known->steps.begin());
  known.reset();
  std::lock_guard lock(turn_);
  auto held = graphs_.find(graph);
  if (held == graphs_.end() || place >= held->second->kernels.size()) return;
  own(held->second).kernels[place] = std::move(kernel);
}

/// EXPECTS: turn_ is held.
ExecutableGraph& GraphTable::own(Graph& graph) {
  // Some applications update hundreds of nodes before every launch.
  if (graph.use_count() > 1) graph = std::make_shared<ExecutableGraph>(*graph);
  return *graph;
}

GraphTable::Graph GraphTable::read(CUgraph from) const {
  OwnCall ours;
  if (!driver_.cuGraphGetNodes || !driver_.cuGraphNodeGetType || !driver_.cuGraphGetEdges ||
      !driver_.cuGraphKernelNodeGetParams || !driver_.cuGraphKernelNodeGetAttribute || !driver_.cuFuncGetName)
    return nullptr;
  auto graph = std::make_shared<ExecutableGraph>();
  size_t count = 0;
  if (driver_.cuGraphGetNodes(from, nullptr, &count) != CUDA_SUCCESS) return nullptr;
  std::vector<CUgraphNode> nodes(count);
  if (count > 0 && driver_.cuGraphGetNodes(from, nodes.data(), &count) != CUDA_SUCCESS) return nullptr;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
    if (driver_.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return nullptr;
    graph->steps.push_back({node, type == CU_GRAPH_NODE_TYPE_EMPTY, {}});
    graph->types.push_back(type);
    graph->kernels.emplace_back();
    if (graph->refusal.empty()) graph->refusal = refusal_of(type);
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    CUDA_KERNEL_NODE_PARAMS parameters{};
    if (driver_.cuGraphKernelNodeGetParams(node, &parameters) != CUDA_SUCCESS) return nullptr;
    CUkernelNodeAttrValue value{};
    if (driver_.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) ==
            CUDA_SUCCESS &&
        value.deviceUpdatableKernelNode.deviceUpdatable)
      graph->refusal = "its graph holds a kernel that the device may update";
    graph->kernels.back() = read_kernel(parameters, node);
    graph->wanted |= graph->kernels.back().has_value();
  }
  if (graph->wanted && !read_edges(from, *graph) && graph->refusal.empty())
    graph->refusal = "its graph lets kernels begin before those they depend on have ended";
  graph->order = order_of(graph->steps);
  return graph;
}

/// False where an edge is of a kind that the driver only tells with its data.
bool GraphTable::read_edges(CUgraph from, ExecutableGraph& into) const {
  size_t count = 0;
  if (driver_.cuGraphGetEdges(from, nullptr, nullptr, nullptr, &count) != CUDA_SUCCESS) return false;
  std::vector<CUgraphNode> begins(count), ends(count);
  if (count > 0 && driver_.cuGraphGetEdges(from, begins.data(), ends.data(), nullptr, &count) != CUDA_SUCCESS)
    return false;
  std::map<CUgraphNode, size_t> place;
  for (size_t i = 0; i < into.steps.size(); ++i) place[into.steps[i].handle] = i;
  for (size_t i = 0; i < count; ++i) {
    auto begin = place.find(begins[i]), end = place.find(ends[i]);
    if (begin == place.end() || end == place.end()) return false;
    into.steps[end->second].after.push_back(begin->second);
  }
  return true;
}

std::optional<GraphKernel> GraphTable::read_kernel(const CUDA_KERNEL_NODE_PARAMS& from, CUgraphNode node) const {
  OwnCall ours;
  GraphKernel kernel;
  const char* name = nullptr;
  // Of a kernel the handle is taken that a plain launch by the runtime would bring.
  if (from.kern && driver_.cuKernelGetName && driver_.cuKernelGetName(&name, from.kern) == CUDA_SUCCESS)
    kernel.handle = reinterpret_cast<CUfunction>(from.kern);
  else if (from.func && driver_.cuFuncGetName(&name, from.func) == CUDA_SUCCESS) kernel.handle = from.func;
  else if (from.func && driver_.cuKernelGetName &&  // The runtime passes one for the other.
           driver_.cuKernelGetName(&name, reinterpret_cast<CUkernel>(from.func)) == CUDA_SUCCESS)
    kernel.handle = from.func;
  if (!kernel.handle || !name) return std::nullopt;
  kernel.name = name;
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  CudaKernel* known = kernels_.find(kernel.handle, current, name, false);
  if (!known || !known->wanted) return std::nullopt;
  kernel.context = from.ctx;
  CudaLaunch launch;
  launch.handle = kernel.handle, launch.parameters = from.kernelParams, launch.extra = from.extra;
  launch.geometry.grid = {from.gridDimX, from.gridDimY, from.gridDimZ};
  launch.geometry.block = {from.blockDimX, from.blockDimY, from.blockDimZ};
  launch.geometry.shared_bytes = from.sharedMemBytes;
  CUlaunchAttribute attributes[4]{};
  CUlaunchConfig config{};
  for (auto id : {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                  CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_LAUNCH_ATTRIBUTE_PRIORITY}) {
    auto& one = attributes[config.numAttrs];
    if (driver_.cuGraphKernelNodeGetAttribute(node, id, &one.value) != CUDA_SUCCESS) continue;
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) launch.geometry.cooperative = one.value.cooperative != 0;
    one.id = id;
    ++config.numAttrs;
  }
  config.attrs = attributes;
  launch.config = &config;
  kernel.geometry = launch.geometry;
  kernel.settings = decode_settings(KL_CBID(cuGraphLaunch), launch);
  auto arguments = pack_arguments(launch, known->layout);
  if (!known->refusal.empty()) kernel.refusal = known->refusal;
  else if (!arguments.ok()) kernel.refusal = arguments.error().message;
  else kernel.arguments = std::move(*arguments);
  kernel.traits = {kernel.geometry, scalar_hash(kernel.arguments, *allocations_.map(modules_))};
  return kernel;
}

}  // namespace kernelift::record
