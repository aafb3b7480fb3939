// Graphs that are lists of nodes on host memory, and the part of the driver that speaks of them.
#pragma once
#include <atomic>
#include <functional>
#include <set>
#include <vector>

#include "core/toolchain/cuda_driver.h"

namespace kernelift::record {

inline constexpr const char* kName = "_Z3addPii";  ///< Of the only kernel.

/// A graph on host memory: kernel nodes add a number to some memory, others (copies, by their type) multiply it by ten.
struct FakeNode {
  CUgraphNodeType type;
  std::vector<int>* memory;
  int add = 0;
  std::vector<FakeNode*> after;
  bool enabled = true, can_be_switched = true;
  int ran = 0, switched = 0;
  std::set<int> refused = {};  ///< The driver refuses these switches of it: the first, the second…
  std::function<void()> when_refused = [] {};
  CUdeviceptr address = 0;
  void* arguments[2] = {&address, &add};
};
struct FakeGraph {
  std::vector<FakeNode*> nodes;  ///< In an order that their edges allow.
  int launches_that_succeed = 1000;
  void run() {
    for (auto* node : nodes) {
      if (!node->enabled) continue;
      ++node->ran;
      if (node->type == CU_GRAPH_NODE_TYPE_EMPTY) continue;
      for (int& value : *node->memory) value = node->type == CU_GRAPH_NODE_TYPE_KERNEL ? value + node->add : value * 10;
    }
  }
  CUgraph handle() { return reinterpret_cast<CUgraph>(this); }
  CUgraphExec executable() { return reinterpret_cast<CUgraphExec>(this); }
};
inline FakeNode& fake_node(CUgraphNode node) { return *reinterpret_cast<FakeNode*>(node); }

/// For the arguments' types as the driver sees them.
inline CUDA_KERNEL_NODE_PARAMS node_parameters(FakeNode& node) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  node.address = reinterpret_cast<CUdeviceptr>(node.memory->data());
  parameters.func = reinterpret_cast<CUfunction>(0x4000);
  parameters.gridDimX = 4, parameters.blockDimX = 32;
  parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = node.arguments;
  return parameters;
}

inline std::atomic<bool> out_of_memory{false};  ///< For a test that has its own operator new.
inline std::function<void()> while_nodes_are_read = [] {};

inline void add_graphs(CudaDriver& driver) {
  driver.cuFuncGetName = [](const char** name, CUfunction) { return *name = kName, CUDA_SUCCESS; };
  driver.cuGraphGetNodes = [](CUgraph graph, CUgraphNode* into, size_t* count) {
    auto& nodes = reinterpret_cast<FakeGraph*>(graph)->nodes;
    std::exchange(while_nodes_are_read, [] {})();
    for (size_t i = 0; into && i < nodes.size(); ++i) into[i] = reinterpret_cast<CUgraphNode>(nodes[i]);
    return *count = nodes.size(), CUDA_SUCCESS;
  };
  driver.cuGraphNodeGetType = [](CUgraphNode node, CUgraphNodeType* type) {
    return *type = fake_node(node).type, CUDA_SUCCESS;
  };
  driver.cuGraphGetEdges = [](CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData*, size_t* count) {
    size_t found = 0;
    for (auto* node : reinterpret_cast<FakeGraph*>(graph)->nodes)
      for (auto* before : node->after) {
        if (from) from[found] = reinterpret_cast<CUgraphNode>(before), to[found] = reinterpret_cast<CUgraphNode>(node);
        ++found;
      }
    return *count = found, CUDA_SUCCESS;
  };
  driver.cuGraphKernelNodeGetParams = [](CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* into) {
    return *into = node_parameters(fake_node(node)), CUDA_SUCCESS;
  };
  driver.cuGraphKernelNodeGetAttribute = [](CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue*) {
    return CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuGraphNodeGetEnabled = [](CUgraphExec, CUgraphNode node, unsigned* enabled) {
    if (fake_node(node).type == CU_GRAPH_NODE_TYPE_EMPTY) return CUDA_ERROR_INVALID_VALUE;
    return *enabled = fake_node(node).enabled, CUDA_SUCCESS;
  };
  driver.cuGraphNodeSetEnabled = [](CUgraphExec, CUgraphNode node, unsigned enabled) {
    auto& fake = fake_node(node);
    if (!fake.can_be_switched || fake.refused.contains(++fake.switched)) {
      fake.when_refused();
      return CUDA_ERROR_INVALID_VALUE;
    }
    return fake_node(node).enabled = enabled, CUDA_SUCCESS;
  };
  driver.cuGraphLaunch = [](CUgraphExec graph, CUstream) {
    auto& fake = *reinterpret_cast<FakeGraph*>(graph);
    if (fake.launches_that_succeed-- <= 0) return CUDA_ERROR_OUT_OF_MEMORY;
    return fake.run(), CUDA_SUCCESS;
  };
}

}  // namespace kernelift::record
