// Stream capture and graphs: built by capture or by hand from kernel, memset, copy, host, empty and child nodes,
// instantiated, updated and launched. Node kinds beyond these are in unsupported.cpp.
#include <algorithm>
#include <cstring>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/launcher.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/order/graph.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

using Work = std::function<cudaError_t()>;

cudaError_t add_node(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                     NodeType type, Work work) {
  StateLock lock;
  if (!made || !is_live(graph) || (count > 0 && !dependencies)) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i)
    if (!is_live(dependencies[i]) || dependencies[i]->graph != graph) return cudaErrorInvalidValue;
  *made = graph->add(type, std::move(work), {dependencies, dependencies + count});
  return cudaSuccess;
}

cudaError_t kernel_work(const cudaKernelNodeParams* parameters, Work* work) {
  if (!parameters) return cudaErrorInvalidValue;
  if (parameters->extra) return not_supported("cudaKernelNodeParams::extra", "use kernelParams");
  Launch launch;
  if (cudaError_t error = prepare_launch(parameters->func, parameters->gridDim, parameters->blockDim,
                                         parameters->kernelParams, parameters->sharedMemBytes, false, 0, launch))
    return error;
  *work = [launch] { return run_launch(launch); };
  return cudaSuccess;
}

cudaError_t copy_work(void* to, const void* from, size_t count, cudaMemcpyKind kind, Work* work) {
  if (cudaError_t error = check_copy(to, count, from, count, kind)) return error;
  *work = [=] {
    if (count > 0) std::memmove(to, from, count);
    return cudaSuccess;
  };
  return cudaSuccess;
}

cudaError_t set_work(const cudaMemsetParams* parameters, Work* work) {
  if (!parameters) return cudaErrorInvalidValue;
  cudaMemsetParams p = *parameters;
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return cudaErrorInvalidValue;
  if (cudaError_t error = check_device(p.dst, rows_span(p.pitch, p.width * p.elementSize, p.height))) return error;
  *work = [p] {
    for (size_t row = 0; row < p.height; ++row)
      for (size_t i = 0; i < p.width; ++i)
        std::memcpy(static_cast<char*>(p.dst) + row * p.pitch + i * p.elementSize, &p.value, p.elementSize);
    return cudaSuccess;
  };
  return cudaSuccess;
}

Work host_work(cudaHostNodeParams parameters) {
  return [parameters] {
    Stream* legacy = find_stream(nullptr);
    enqueue_callback(legacy, [parameters] { parameters.fn(parameters.userData); });
    wait_for_callbacks(legacy);
    return cudaSuccess;
  };
}

/// Replaces the work of one step of an instantiated graph.
cudaError_t replace(cudaGraphExec_t exec, cudaGraphNode_t node, NodeType type, Work work) {
  StateLock lock;
  GraphExec::Step* step = is_live(exec) ? exec->find(node) : nullptr;
  if (!step || step->type != type) return cudaErrorInvalidValue;
  step->run = std::move(work);
  return cudaSuccess;
}

}  // namespace

KL_API cudaError_t cudaStreamBeginCapture(cudaStream_t handle, int mode) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  return leave(stream ? begin_capture(stream, mode, nullptr) : cudaErrorInvalidResourceHandle);
}
KL_PTSZ(cudaStreamBeginCapture);
KL_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                 const void*, size_t count, int mode) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (!is_live(graph)) return leave(cudaErrorInvalidValue);
  cudaError_t error = begin_capture(stream, mode, graph);
  if (error == cudaSuccess && count > 0) stream->frontier.assign(after, after + count);
  return leave(error);
}
KL_PTSZ(cudaStreamBeginCaptureToGraph);
KL_API cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  return leave(stream ? end_capture(stream, graph) : cudaErrorInvalidResourceHandle);
}
KL_PTSZ(cudaStreamEndCapture);

KL_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, int* status, unsigned long long* id,
                                            cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                            const void** edges, size_t* count) {
  KL_ENTER();
  StateLock lock;
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (!status) return leave(cudaErrorInvalidValue);
  Capture* capture = stream->capture;
  *status = !capture ? 0 : capture->invalidated ? 2 : 1;
  if (id && capture) *id = capture->id;
  if (graph) *graph = capture ? capture->graph : nullptr;
  if (dependencies) *dependencies = stream->frontier.data();
  if (edges) *edges = nullptr;
  if (count) *count = stream->frontier.size();
  return cudaSuccess;
}
KL_PTSZ(cudaStreamGetCaptureInfo);
KL_API cudaError_t cudaStreamIsCapturing(cudaStream_t handle, int* status) {
  return cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
KL_PTSZ(cudaStreamIsCapturing);
KL_API cudaError_t cudaThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;
  if (!mode || *mode < 0 || *mode > 2) return leave(cudaErrorInvalidValue);
  std::swap(current, *mode);
  return cudaSuccess;
}

KL_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  KL_ENTER();
  if (!graph || flags != 0) return leave(cudaErrorInvalidValue);
  *graph = create_graph();
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  KL_ENTER();
  if (!is_live(graph)) return leave(cudaErrorInvalidValue);
  destroy_graph(graph);
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  KL_ENTER();
  if (!clone || !is_live(graph)) return leave(cudaErrorInvalidValue);
  *clone = clone_graph(*graph);
  return cudaSuccess;
}

KL_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  KL_ENTER();
  StateLock lock;
  if (!exec || !is_live(graph)) return leave(cudaErrorInvalidValue);
  *exec = instantiate(*graph);
  if (!*exec) return leave(cudaErrorInvalidValue);
  (*exec)->flags = flags;
  return cudaSuccess;
}
KL_ALIAS(cudaGraphInstantiateWithFlags, cudaGraphInstantiate);
KL_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  KL_ENTER();
  if (!flags || !is_live(exec)) return leave(cudaErrorInvalidValue);
  *flags = exec->flags;
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  KL_ENTER();
  if (!is_live(exec)) return leave(cudaErrorInvalidValue);
  destroy_exec(exec);
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  KL_ENTER();
  if (!find_stream(stream)) return leave(cudaErrorInvalidResourceHandle);
  return leave(is_live(exec) ? cudaSuccess : cudaErrorInvalidValue);
}
KL_PTSZ(cudaGraphUpload);

KL_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  KL_ENTER();
  if (!is_live(exec)) return leave(cudaErrorInvalidValue);
  GraphExec* live = exec;
  if (Stream* known = find_stream(stream); known && known->capture) {
    GraphExec copy = *live;
    return leave(capture_node(known, NodeType::Graph, [copy]() mutable { return run_graph(copy); }));
  }
  return leave(in_stream(stream, NodeType::Graph, [live] { return run_graph(*live); }));
}
KL_PTSZ(cudaGraphLaunch);

/// An update replaces the steps of `exec` by those of a graph of the same shape.
KL_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, void* result_info) {
  KL_ENTER();
  StateLock lock;
  constexpr int kUpdateError = 1, kTopologyChanged = 2;
  if (!is_live(exec) || !is_live(graph)) return leave(cudaErrorInvalidValue);
  std::vector<GraphNode*> order = graph->ordered();
  bool same = order.size() == exec->steps.size();
  for (size_t i = 0; same && i < order.size(); ++i) same = order[i]->type == exec->steps[i].type;
  if (result_info) {
    std::memset(result_info, 0, 3 * sizeof(void*));
    int result = same ? 0 : order.size() != exec->steps.size() ? kTopologyChanged : kUpdateError;
    std::memcpy(result_info, &result, sizeof result);
  }
  if (!same) return leave(cudaErrorGraphExecUpdateFailure);
  for (size_t i = 0; i < order.size(); ++i) exec->steps[i].run = order[i]->run;
  return cudaSuccess;
}

KL_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          size_t count, const cudaKernelNodeParams* parameters) {
  KL_ENTER();
  Work work;
  if (cudaError_t error = kernel_work(parameters, &work)) return leave(error);
  cudaError_t error = add_node(node, graph, after, count, NodeType::Kernel, work);
  if (error == cudaSuccess) {
    (*node)->kernel = *parameters;
    (*node)->kernel.kernelParams = nullptr;
  }
  return leave(error);
}
KL_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  KL_ENTER();
  if (!parameters || !is_live(node) || node->type != NodeType::Kernel) return leave(cudaErrorInvalidValue);
  *parameters = node->kernel;
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  KL_ENTER();
  if (!is_live(node) || node->type != NodeType::Kernel) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = kernel_work(parameters, &node->run)) return leave(error);
  node->kernel = *parameters;
  node->kernel.kernelParams = nullptr;
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaKernelNodeParams* parameters) {
  KL_ENTER();
  Work work;
  if (cudaError_t error = kernel_work(parameters, &work)) return leave(error);
  return leave(replace(exec, node, NodeType::Kernel, std::move(work)));
}

KL_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                            size_t count, void* to, const void* from, size_t bytes,
                                            cudaMemcpyKind kind) {
  KL_ENTER();
  Work work;
  if (cudaError_t error = copy_work(to, from, bytes, kind, &work)) return leave(error);
  return leave(add_node(node, graph, after, count, NodeType::Memcpy, std::move(work)));
}
KL_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                      const void* from, size_t bytes, cudaMemcpyKind kind) {
  KL_ENTER();
  Work work;
  if (cudaError_t error = copy_work(to, from, bytes, kind, &work)) return leave(error);
  return leave(replace(exec, node, NodeType::Memcpy, std::move(work)));
}
KL_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream);
KL_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          size_t count, const cudaMemcpy3DParms* parameters) {
  KL_ENTER();
  if (!parameters) return leave(cudaErrorInvalidValue);
  cudaMemcpy3DParms copy = *parameters;
  return leave(
      add_node(node, graph, after, count, NodeType::Memcpy, [copy] { return cudaMemcpy3DAsync(&copy, nullptr); }));
}
KL_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          size_t count, const cudaMemsetParams* parameters) {
  KL_ENTER();
  Work work;
  if (cudaError_t error = set_work(parameters, &work)) return leave(error);
  return leave(add_node(node, graph, after, count, NodeType::Memset, std::move(work)));
}
KL_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaMemsetParams* parameters) {
  KL_ENTER();
  Work work;
  if (cudaError_t error = set_work(parameters, &work)) return leave(error);
  return leave(replace(exec, node, NodeType::Memset, std::move(work)));
}
KL_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                        size_t count, const cudaHostNodeParams* parameters) {
  KL_ENTER();
  if (!parameters || !parameters->fn) return leave(cudaErrorInvalidValue);
  return leave(add_node(node, graph, after, count, NodeType::Host, host_work(*parameters)));
}
KL_API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  const cudaHostNodeParams* parameters) {
  KL_ENTER();
  if (!parameters || !parameters->fn) return leave(cudaErrorInvalidValue);
  return leave(replace(exec, node, NodeType::Host, host_work(*parameters)));
}
KL_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                         size_t count) {
  KL_ENTER();
  return leave(add_node(node, graph, after, count, NodeType::Empty, nullptr));
}
KL_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                               size_t count, cudaEvent_t event) {
  KL_ENTER();
  if (!is_live_event(event)) return leave(cudaErrorInvalidResourceHandle);
  return leave(add_node(node, graph, after, count, NodeType::EventRecord, [event] {
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
    return cudaSuccess;
  }));
}
KL_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                             size_t count, cudaEvent_t event) {
  KL_ENTER();
  if (!is_live_event(event)) return leave(cudaErrorInvalidResourceHandle);
  return leave(add_node(node, graph, after, count, NodeType::WaitEvent, nullptr));
}
KL_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                              size_t count, cudaGraph_t child) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(child)) return leave(cudaErrorInvalidValue);
  std::vector<Work> steps;  // A copy now: later changes to the child do not reach the parent.
  for (GraphNode* step : child->ordered())
    if (step->run) steps.push_back(step->run);
  return leave(add_node(node, graph, after, count, NodeType::Graph, [steps] {
    for (const Work& step : steps)
      if (cudaError_t error = step()) return error;
    return cudaSuccess;
  }));
}

KL_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            const void*, size_t count) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(graph) || (count > 0 && (!from || !to))) return leave(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i)
    if (!is_live(from[i]) || !is_live(to[i]) || from[i]->graph != graph || to[i]->graph != graph)
      return leave(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) to[i]->dependencies.push_back(from[i]);
  return cudaSuccess;
}

KL_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(graph) || !count) return leave(cudaErrorInvalidValue);
  for (size_t i = 0; nodes && i < std::min(*count, graph->nodes.size()); ++i) nodes[i] = graph->nodes[i].get();
  if (!nodes || *count > graph->nodes.size()) *count = graph->nodes.size();
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(graph) || !count) return leave(cudaErrorInvalidValue);
  size_t roots = 0;
  for (const auto& node : graph->nodes) {
    if (!node->dependencies.empty()) continue;
    if (nodes && roots < *count) nodes[roots] = node.get();
    ++roots;
  }
  if (!nodes || *count > roots) *count = roots;
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, int* type) {
  KL_ENTER();
  if (!type || !is_live(node)) return leave(cudaErrorInvalidValue);
  *type = int(node->type);
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t original, cudaGraph_t clone) {
  KL_ENTER();
  StateLock lock;
  if (!found || !is_live(clone)) return leave(cudaErrorInvalidValue);
  for (const auto& node : clone->nodes)
    if (node->cloned_from == original) {
      *found = node.get();
      return cudaSuccess;
    }
  return leave(cudaErrorInvalidValue);
}
KL_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(node)) return leave(cudaErrorInvalidValue);
  Graph* graph = node->graph;
  for (const auto& other : graph->nodes) std::erase(other->dependencies, node);
  std::erase_if(graph->nodes, [&](const auto& owned) { return owned.get() == node; });
  return cudaSuccess;
}
KL_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  KL_ENTER();
  StateLock lock;
  GraphExec::Step* step = is_live(exec) ? exec->find(node) : nullptr;
  if (!step) return leave(cudaErrorInvalidValue);
  step->enabled = enabled != 0;
  return cudaSuccess;
}
