// The CUDA recorder whole, without a GPU: an application of lambdas on host memory, a fake CUPTI that delivers its
// calls, a driver that is a table of functions. What only a real driver shows is in gpu_recorder_test.cpp.
#include "extractor/record/cuda/cuda_recorder.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "core/base/file.h"
#include "core/model/kernel_key.h"

namespace kernelift {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kName = "_Z3addPii";
std::map<uint64_t, uint64_t> device_memory;  ///< Address to size.
std::atomic<int> forbidden_calls{0};         ///< Made while a stream captures.
std::atomic<bool> capture_open{false}, stuck{false};

CUresult not_in_a_capture() {
  if (!capture_open) return CUDA_SUCCESS;
  ++forbidden_calls;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult attributes(unsigned count, CUpointer_attribute* wanted, void** into, CUdeviceptr address) {
  auto found = device_memory.upper_bound(address);
  bool known = found != device_memory.begin() && (--found, address < found->first + found->second);
  for (unsigned i = 0; known && i < count; ++i) switch (wanted[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(into[i]) = CU_MEMORYTYPE_DEVICE; break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(into[i]) = found->first; break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<size_t*>(into[i]) = found->second; break;
      default: break;
    }
  return CUDA_SUCCESS;
}

template <auto Answer = CUDA_SUCCESS, class... Parameters>
void yes(CUresult (*&function)(Parameters...)) {
  function = [](Parameters...) -> CUresult { return Answer; };
}

CudaDriver fake_driver() {
  CudaDriver driver;
  yes(driver.cuInit), yes(driver.cuCtxSetCurrent), yes(driver.cuEventCreate), yes(driver.cuEventRecord);
  yes(driver.cuEventSynchronize), yes(driver.cuStreamCreate), yes(driver.cuCtxGetLimit),
      yes(driver.cuCtxGetCacheConfig);
  yes(driver.cuFuncGetAttribute), yes(driver.cuDeviceGet), yes(driver.cuDeviceGetAttribute),
      yes(driver.cuDriverGetVersion);
  yes(driver.cuCtxGetDevice), yes(driver.cuFuncGetModule), yes<CUDA_ERROR_NOT_FOUND>(driver.cuModuleGetGlobal);
  driver.cuDeviceGetName = [](char* into, int size, CUdevice) {
    return std::snprintf(into, size_t(size), "Fake"), CUDA_SUCCESS;
  };
  driver.cuGetErrorName = [](CUresult, const char** text) { return *text = "FAKE_ERROR", CUDA_SUCCESS; };
  driver.cuGetErrorString = driver.cuGetErrorName;
  driver.cuStreamQuery = [](CUstream) { return stuck ? CUDA_ERROR_NOT_READY : not_in_a_capture(); };
  driver.cuCtxSynchronize = [] { return not_in_a_capture(); };
  driver.cuMemAllocHost = [](void** into, size_t bytes) { return *into = std::malloc(bytes), CUDA_SUCCESS; };
  driver.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, size_t bytes, CUstream) {
    if (not_in_a_capture() != CUDA_SUCCESS) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), CUDA_SUCCESS;
  };
  driver.cuPointerGetAttributes = attributes;
  driver.cuKernelGetParamInfo = [](CUkernel, size_t, size_t*, size_t*) { return CUDA_ERROR_INVALID_HANDLE; };
  driver.cuFuncGetParamInfo = [](CUfunction, size_t index, size_t* offset, size_t* size) {
    *offset = index * 8, *size = index ? 4 : 8;
    return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  return driver;
}

/// A graph on host memory: kernel nodes add a number to some memory, others (copies, by their type) multiply it by ten.
struct FakeNode {
  CUgraphNodeType type;
  std::vector<int>* memory;
  int add = 0;
  std::vector<FakeNode*> after;
  bool enabled = true, can_be_switched = true;
  int ran = 0, switched = 0;
  std::set<int> refused = {};  ///< The driver refuses these switches of it: the first, the second…
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
FakeNode& fake_node(CUgraphNode node) { return *reinterpret_cast<FakeNode*>(node); }

/// For the arguments' types as the driver sees them.
CUDA_KERNEL_NODE_PARAMS node_parameters(FakeNode& node) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  node.address = reinterpret_cast<CUdeviceptr>(node.memory->data());
  parameters.func = reinterpret_cast<CUfunction>(0x4000);
  parameters.gridDimX = 4, parameters.blockDimX = 32;
  parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = node.arguments;
  return parameters;
}

std::function<void()> while_nodes_are_read = [] {};

void add_graphs(CudaDriver& driver) {
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
    if (!fake_node(node).can_be_switched || fake_node(node).refused.contains(++fake_node(node).switched))
      return CUDA_ERROR_INVALID_VALUE;
    return fake_node(node).enabled = enabled, CUDA_SUCCESS;
  };
  driver.cuGraphLaunch = [](CUgraphExec graph, CUstream) {
    auto& fake = *reinterpret_cast<FakeGraph*>(graph);
    if (fake.launches_that_succeed-- <= 0) return CUDA_ERROR_OUT_OF_MEMORY;
    return fake.run(), CUDA_SUCCESS;
  };
}

class CudaRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_memory.clear();
    forbidden_calls = 0, capture_open = false, stuck = false;
    // Each test has a CUPTI of its own: the recorders are never taken down.
    fs::path mine = scratch_.path() / "libcupti_fake.so";
    fs::copy_file(FAKE_CUPTI, mine);
    library_ = dlopen(mine.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library_) << dlerror();
    deliver_ = reinterpret_cast<decltype(deliver_)>(dlsym(library_, "fake_deliver"));
    ran_ = reinterpret_cast<decltype(ran_)>(dlsym(library_, "fake_kernel_ran"));
    cupti_ = mine.string();
    config_.folder = scratch_.path().string();
  }
  CudaRecorder& start() {
    static CudaDriver driver = [] {
      CudaDriver made = fake_driver();
      add_graphs(made);
      return made;
    }();
    auto* recorder = new CudaRecorder(config_, driver);
    auto started = recorder->start(cupti_);
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    return *recorder;
  }
  /// One call of the driver: `work` runs between its begin and its end.
  template <class Parameters>
  void call(
      CUpti_CallbackId cbid, const Parameters& parameters, const std::function<void()>& work = [] {},
      CUresult result = CUDA_SUCCESS) {
    uint64_t word = 0xdeadbeef;
    CUpti_CallbackData data{};
    data.functionParams = &parameters, data.functionReturnValue = &result, data.correlationData = &word;
    data.correlationId = ++correlation_, data.symbolName = kName, data.context = context_;
    data.callbackSite = CUPTI_API_ENTER;
    deliver_(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
    if (result == CUDA_SUCCESS) work();
    data.callbackSite = CUPTI_API_EXIT;
    deliver_(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
  }
  std::vector<int>& allocate(size_t count) {
    auto& memory = *new std::vector<int>(count);
    auto address = reinterpret_cast<CUdeviceptr>(memory.data());
    device_memory[address] = count * sizeof(int);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, count * sizeof(int)});
    return memory;
  }
  void launch(std::vector<int>& memory, int add, CUresult result = CUDA_SUCCESS, double microseconds = 10) {
    int* address = memory.data();
    void* arguments[] = {&address, &add};
    cuLaunchKernel_params parameters{
        reinterpret_cast<CUfunction>(0x4000), 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr};
    call(
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, parameters,
        [&] {
          if (capture_open) return;  // It is a node now, and no execution.
          for (int& value : memory) value += add;
          ran(microseconds);
        },
        result);
  }
  /// What CUPTI will tell of a kernel of the call that is being made.
  void ran(double microseconds, uint64_t graph_node = 0) {
    CUpti_ActivityKernel10 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record.name = kName, record.correlationId = correlation_;
    record.gridX = 4, record.gridY = record.gridZ = 1, record.blockX = 32, record.blockY = record.blockZ = 1;
    record.end = uint64_t(microseconds * 1e3) + (record.start = 1000);
    record.graphNodeId = graph_node;
    ran_(&record);
  }
  FakeNode* node(FakeGraph& graph, CUgraphNodeType type, std::vector<int>& memory, int add = 0,
                 std::vector<FakeNode*> after = {}) {
    auto* node = new FakeNode{type, &memory, add, std::move(after)};  // As long as the graph, which is the test's.
    graph.nodes.push_back(node);
    return node;
  }
  void instantiate(FakeGraph& graph) {
    CUgraphExec executable = graph.executable();
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags,
         cuGraphInstantiateWithFlags_params{&executable, graph.handle(), 0});
  }
  void launch(FakeGraph& graph) {
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, cuGraphLaunch_params{graph.executable(), nullptr}, [&] { graph.run(); });
  }
  int number(const Capture& capture, const Image& image) {
    int value = 0;
    std::memcpy(&value, capture.load(image)->data(), sizeof value);
    return value;
  }
  Result<Capture> capture(pid_t process = getpid()) {
    return Capture::open(scratch_.path() / ("process-" + std::to_string(process)));
  }

  std::string omissions(const Capture& capture) {
    std::string text;
    for (auto& one : capture.info().omissions) text += one.what + ": " + one.why + "\n";
    return text;
  }

  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-cuda-recorder-test"));
  RecordConfig config_;
  void* library_ = nullptr;
  void (*deliver_)(CUpti_CallbackDomain, CUpti_CallbackId, const void*) = nullptr;
  void (*ran_)(const CUpti_ActivityKernel10*) = nullptr;
  std::string cupti_;
  uint32_t correlation_ = 0;
  CUcontext context_ = reinterpret_cast<CUcontext>(8);
};

TEST_F(CudaRecorderTest, KeepsImagesBeforeAndAfterAndDurationsOfTheOtherLaunches) {
  auto& recorder = start();
  auto& memory = allocate(100'000);
  for (int i = 0; i < 100; ++i) launch(memory, 1, CUDA_SUCCESS, i < 2 ? 500 : 10);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE(found->info().complete);
  EXPECT_THAT(found->info().device, HasSubstr("cuda:Fake:sm_0"));
  ASSERT_EQ(found->info().profile.size(), 1u);
  EXPECT_EQ(found->info().profile[0].count, 100u);
  EXPECT_EQ(found->info().profile[0].key, canonical_key(kName));
  ASSERT_EQ(found->instances().size(), 4u);
  for (auto& instance : found->instances()) {
    ASSERT_EQ(instance.regions.size(), 1u);
    int before, after;
    std::memcpy(&before, found->load(instance.regions[0].before)->data() + 44, 4);
    std::memcpy(&after, found->load(instance.regions[0].after)->data() + 44, 4);
    EXPECT_EQ(before, int(instance.launch_index));
    EXPECT_EQ(after, before + 1);
    EXPECT_NEAR(instance.microseconds, 10, 1e-6) << "captured launches do not count";
  }
}

TEST_F(CudaRecorderTest, SaysWhichArgumentsMemoryOtherWorkTouchedBeforeMostLaunches) {
  auto& recorder = start();
  auto &memory = allocate(1000), &copied_to = allocate(2000);
  for (int i = 0; i < 20; ++i) {
    launch(memory, 1);
    call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
         cuMemcpyHtoD_v2_params{reinterpret_cast<CUdeviceptr>(copied_to.data()), nullptr, 4});
  }
  recorder.finish();
  EXPECT_THAT(capture()->instances().at(0).like.rewritten, ::testing::IsEmpty()) << "another buffer";
  reinterpret_cast<CUptiResult (*)(CUpti_SubscriberHandle)>(dlsym(library_, "cuptiUnsubscribe"))(nullptr);

  auto scratch = std::move(*TemporaryFolder::create("kernelift-cuda-recorder-test"));
  config_.folder = scratch.path().string();
  auto& second = start();
  for (int i = 0; i < 20; ++i) {
    if (i != 7)
      call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
           cuMemcpyHtoD_v2_params{reinterpret_cast<CUdeviceptr>(memory.data()), nullptr, 4});
    launch(memory, 1);
  }
  second.finish();
  auto found = Capture::open(scratch.path() / ("process-" + std::to_string(getpid())));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(found->instances().at(0).like.rewritten, ::testing::ElementsAre(0u));
}

TEST_F(CudaRecorderTest, NamesMemoryThatNothingLeadsToOrTakesItToo) {
  for (bool all : {false, true}) {
    config_.all_memory = all;
    auto scratch = std::move(*TemporaryFolder::create("kernelift-cuda-recorder-test"));
    config_.folder = scratch.path().string();
    auto& recorder = start();
    auto &memory = allocate(1000), &hidden = allocate(5000);
    hidden[7] = 3;
    launch(memory, 1);
    recorder.finish();
    reinterpret_cast<CUptiResult (*)(CUpti_SubscriberHandle)>(dlsym(library_, "cuptiUnsubscribe"))(nullptr);
    auto found = Capture::open(scratch.path() / ("process-" + std::to_string(getpid())));
    ASSERT_TRUE(found.ok()) << found.error().message;
    auto& one = found->instances().at(0);
    ASSERT_EQ(one.regions.size(), all ? 2u : 1u);
    if (all) {
      auto& region = one.regions[one.regions[0].reached_from == "arg 0"];
      EXPECT_EQ(region.address, reinterpret_cast<uint64_t>(hidden.data()));
      EXPECT_EQ(region.reached_from, "alive at the launch");
      EXPECT_TRUE(one.unreached.empty());
    } else {
      EXPECT_THAT(one.unreached, ::testing::ElementsAre(MemoryRange{reinterpret_cast<uint64_t>(hidden.data()), 20000}));
    }
  }
}

TEST_F(CudaRecorderTest, AsksTheDriverNothingWhileAStreamCaptures) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  cuStreamBeginCapture_v2_params begin{reinterpret_cast<CUstream>(64), CU_STREAM_CAPTURE_MODE_GLOBAL};
  call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, begin, [] { capture_open = true; });
  for (int i = 0; i < 30; ++i) launch(memory, 1);
  CUgraph graph = nullptr;
  cuStreamEndCapture_params end{reinterpret_cast<CUstream>(64), &graph};
  call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, end, [] { capture_open = false; });
  EXPECT_EQ(forbidden_calls, 0);
  launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->instances().size(), 2u) << "one before, one after";
  EXPECT_EQ(found->info().profile.at(0).count, 2u);
}

TEST_F(CudaRecorderTest, TakesAGraphNodesImagesByRunningOneLaunchInParts) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  auto* copy = node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory);
  auto* first = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1, {copy});
  auto* joint = node(graph, CU_GRAPH_NODE_TYPE_EMPTY, memory, 0, {first});
  auto* second = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 2, {joint});
  auto* last = node(graph, CU_GRAPH_NODE_TYPE_MEMSET, memory, 0, {second});
  instantiate(graph);
  memory[0] = 5;
  launch(graph);
  EXPECT_EQ(memory[0], ((5 * 10 + 1) + 2) * 10);
  EXPECT_EQ(memory[1], 30);
  for (auto* one : graph.nodes) {
    if (one != joint) EXPECT_EQ(one->ran, 1);
    EXPECT_TRUE(one->enabled) << "as the application had it";
  }
  launch(graph);
  EXPECT_EQ(memory[1], (30 * 10 + 3) * 10);
  EXPECT_EQ(last->ran, 2);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->instances().size(), 2u) << omissions(*found);
  auto &one = found->instances()[0], &two = found->instances()[1];
  EXPECT_EQ(number(*found, one.regions.at(0).before), 50) << "what it waits for had run";
  EXPECT_EQ(number(*found, one.regions.at(0).after), 51);
  EXPECT_EQ(number(*found, two.regions.at(0).before), 51);
  EXPECT_EQ(number(*found, two.regions.at(0).after), 53);
  EXPECT_EQ(int(one.arguments.at(8)), 1);
  EXPECT_EQ(int(two.arguments.at(8)), 2);
  EXPECT_EQ(one.geometry.grid.x, 4u);
  EXPECT_EQ(one.settings.entry, "cuGraphLaunch");
  EXPECT_EQ(one.settings.stream, "default");
  EXPECT_THAT(omissions(*found), ::testing::Not(HasSubstr("in CUDA graphs")));
}

TEST_F(CudaRecorderTest, FollowsUpdatesOfAnExecutableGraph) {
  auto& recorder = start();
  auto &memory = allocate(1000), &other = allocate(1000);
  FakeGraph graph, newer;
  auto* add = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  instantiate(graph);
  add->add = 7;  // Of the executable graph too, in a fake.
  auto parameters = node_parameters(*add);
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2,
       cuGraphExecKernelNodeSetParams_v2_params{graph.executable(), reinterpret_cast<CUgraphNode>(add), &parameters});
  launch(graph);
  node(newer, CU_GRAPH_NODE_TYPE_KERNEL, other, 9);
  add->add = 9, add->memory = &other;
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
       cuGraphExecUpdate_v2_params{graph.executable(), newer.handle(), nullptr});
  launch(graph);
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(other[0], 9);
  FakeGraph longer;
  for (int i = 0; i < 2; ++i) node(longer, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
       cuGraphExecUpdate_v2_params{graph.executable(), longer.handle(), nullptr});
  launch(graph);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->instances().size(), 2u) << omissions(*found);
  EXPECT_EQ(int(found->instances()[0].arguments.at(8)), 7);
  EXPECT_EQ(int(found->instances()[1].arguments.at(8)), 9);
  EXPECT_EQ(found->instances()[1].regions.at(0).address, reinterpret_cast<uint64_t>(other.data()));
  EXPECT_THAT(omissions(*found), HasSubstr("add(int*,int) in CUDA graphs: its graph was updated with one whose nodes"));
}

TEST_F(CudaRecorderTest, CountsNoDurationOfAGraphLaunchThatWasRunInParts) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  for (int add : {1, 2}) node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, add);
  instantiate(graph);
  for (int i = 0; i < 12; ++i) {
    bool in_parts = i == 0 || i == 4;  // The first, second and eighth run of the kernel are wanted.
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, cuGraphLaunch_params{graph.executable(), nullptr}, [&] {
      graph.run();
      for (uint64_t node : {1, 2}) ran(in_parts ? 14 : 10, node);
    });
  }
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->instances().size(), 3u) << omissions(*found);
  for (auto& one : found->instances()) EXPECT_EQ(one.like.count, 20u);
}

TEST_F(CudaRecorderTest, LeavesAGraphAloneWhoseNodesAreDestroyedWhileItIsUpdated) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph, newer;
  node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(newer, CU_GRAPH_NODE_TYPE_KERNEL, memory, 9);
  instantiate(graph);
  while_nodes_are_read = [&] {
    std::thread([&] { call(CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy, cuGraphDestroy_params{graph.handle()}); }).join();
  };
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
       cuGraphExecUpdate_v2_params{graph.executable(), newer.handle(), nullptr});
  launch(graph);
  recorder.finish();
  EXPECT_TRUE(capture()->instances().empty()) << "its nodes' names are dangling";
  EXPECT_THAT(omissions(*capture()), HasSubstr("has been destroyed"));
}

TEST_F(CudaRecorderTest, LeavesAGraphThatCannotBeRunInPartsWholeAndNamesWhy) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph hosting, destroyed, stubborn;
  node(hosting, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(hosting, CU_GRAPH_NODE_TYPE_HOST, memory);
  node(destroyed, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(stubborn, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(stubborn, CU_GRAPH_NODE_TYPE_MEMCPY, memory)->can_be_switched = false;
  for (auto* graph : {&hosting, &destroyed, &stubborn}) instantiate(*graph);
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy, cuGraphDestroy_params{destroyed.handle()});
  for (auto* graph : {&hosting, &destroyed, &stubborn}) {
    launch(*graph);
    for (auto* node : graph->nodes) {
      EXPECT_EQ(node->ran, 1);
      EXPECT_TRUE(node->enabled);
    }
  }
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->instances().empty());
  EXPECT_THAT(omissions(*found), HasSubstr("add(int*,int) in CUDA graphs: its graph holds a host function"));
  EXPECT_THAT(omissions(*found), HasSubstr("has been destroyed"));
  EXPECT_THAT(omissions(*found), HasSubstr("cannot be run in parts"));
}

TEST_F(CudaRecorderTest, LeavesTheRestOfAGraphToTheApplicationsLaunchIfAPartFails) {
  auto& recorder = start();
  for (int parts : {0, 1, 2, 3}) {
    auto& memory = allocate(1000);
    FakeGraph graph;
    auto* copy = node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory);
    auto* off = node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory, 0, {copy});
    auto* add = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1, {off});
    node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory, 0, {add});
    off->enabled = false;  // By the application itself.
    instantiate(graph);
    graph.launches_that_succeed = parts;
    memory[0] = 5;
    launch(graph);
    EXPECT_EQ(memory[0], 510) << parts;
    for (auto* node : graph.nodes) {
      EXPECT_EQ(node->ran, node != off);
      EXPECT_EQ(node->enabled, node != off);
    }
  }
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->instances().size(), 1u) << "the first that could be had";
  EXPECT_THAT(omissions(*found), HasSubstr("a part of its graph: FAKE_ERROR"));
}

TEST_F(CudaRecorderTest, TriesAgainToSwitchAGraphsNodeBackOn) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory)->refused = {1, 3};
  instantiate(graph);
  memory[0] = 5;
  launch(graph);
  EXPECT_EQ(memory[0], 60);
  recorder.finish();
  EXPECT_EQ(capture()->instances().size(), 1u);
  EXPECT_THAT(omissions(*capture()), ::testing::Not(HasSubstr("switched")));
}

TEST_F(CudaRecorderTest, SaysSoIfAGraphsNodeCannotBeSwitchedBackAndTakesNoMoreImages) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  auto* left_off = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 2);
  for (int i = 4; i < 100; ++i) left_off->refused.insert(i);  // Off, on for its own images, off; and no more.
  instantiate(graph);
  for (int i = 0; i < 20; ++i) launch(graph);
  for (int i = 0; i < 20; ++i) launch(memory, 1);
  recorder.finish();
  EXPECT_EQ(left_off->ran, 1) << "in its own part";
  auto found = capture();
  EXPECT_EQ(found->instances().size(), 2u) << "of the first launch";
  EXPECT_THAT(omissions(*found), HasSubstr("launch 0 of add(int*,int): node 1 of its graph (add(int*,int)) could not be"));
}

TEST_F(CudaRecorderTest, GivesUpOnADeviceThatDoesNotComeToRestAndStopsTryingInTheEnd) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  stuck = true;
  auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i) launch(memory, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(6));
  EXPECT_EQ(memory[0], 2) << "the launches went on";
  stuck = false;
  for (int i = 2; i < 20; ++i) launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(omissions(*found), HasSubstr("launch 0 of add(int*,int): the device was not idle within 2 s"));
  EXPECT_THAT(omissions(*found), HasSubstr("launch 1 of"));
  ASSERT_EQ(found->instances().size(), 2u);
  EXPECT_EQ(found->instances()[0].launch_index, 2u) << "the first it could have";
}

TEST_F(CudaRecorderTest, DropsAFailedLaunchAndMemoryTheDriverNoLongerKnows) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1, CUDA_ERROR_INVALID_VALUE);
  launch(memory, 1);
  device_memory.clear();
  for (int i = 0; i < 10; ++i) launch(memory, 1);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->instances().size(), 2u);
  EXPECT_EQ(found->instances()[0].launch_index, 1u);
  EXPECT_EQ(found->instances()[1].regions.size(), 0u);
  EXPECT_THAT(omissions(*found), HasSubstr("the driver no longer knows it"));
}

TEST_F(CudaRecorderTest, HoldsUpOtherThreadsWhileAnImageIsTaken) {
  config_.instances = 8;
  auto& recorder = start();
  auto& memory = allocate(200'000);
  std::atomic<uint32_t> ids{1000};
  auto work = [&] {
    for (int i = 0; i < 40; ++i) {
      int one = 1;
      int* address = memory.data();
      void* arguments[] = {&address, &one};
      cuLaunchKernel_params parameters{
          reinterpret_cast<CUfunction>(0x4000), 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr};
      uint64_t word = 0;
      CUresult result = CUDA_SUCCESS;
      CUpti_CallbackData data{};
      data.functionParams = &parameters, data.functionReturnValue = &result, data.correlationData = &word;
      data.correlationId = ++ids, data.symbolName = kName, data.context = context_;
      data.callbackSite = CUPTI_API_ENTER;
      deliver_(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
      __atomic_fetch_add(&memory[0], 1, __ATOMIC_SEQ_CST);
      data.callbackSite = CUPTI_API_EXIT;
      deliver_(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(memory[0], 160);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_FALSE(found->instances().empty());
  for (auto& instance : found->instances()) {
    int before, after;
    std::memcpy(&before, found->load(instance.regions.at(0).before)->data(), 4);
    std::memcpy(&after, found->load(instance.regions.at(0).after)->data(), 4);
    EXPECT_EQ(after, before + 1);
  }
}

TEST_F(CudaRecorderTest, LeavesTheParentsFilesAloneInAForkedChild) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  pid_t child = fork();
  if (child == 0) {
    recorder.forked();
    for (int i = 0; i < 20; ++i) launch(memory, 1);
    recorder.finish();
    _exit(fs::exists(scratch_.path() / ("process-" + std::to_string(getpid()))) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  launch(memory, 1);
  recorder.finish();
  EXPECT_EQ(capture()->info().profile.at(0).count, 2u);
}

TEST_F(CudaRecorderTest, IsSilentAfterItHasLetGo) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  launch(memory, 1);
  recorder.let_go("the application profiles itself");
  launch(memory, 1);
  CUpti_SubscriberHandle handle;
  auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library_, "cuptiSubscribe"));
  EXPECT_EQ(
      subscribe(&handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr), CUPTI_SUCCESS);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->info().profile.at(0).count, 1u);
  EXPECT_THAT(omissions(*found), HasSubstr("profiles itself"));
}

TEST_F(CudaRecorderTest, SaysWhyAProcessWithAProfilerOfItsOwnIsNotRecorded) {
  auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library_, "cuptiSubscribe"));
  CUpti_SubscriberHandle handle;
  ASSERT_EQ(
      subscribe(&handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr), CUPTI_SUCCESS);
  static CudaDriver driver = fake_driver();
  auto& recorder = *new CudaRecorder(config_, driver);
  auto started = recorder.start(cupti_);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().exit, Exit::Refused);
  recorder.refuse(started.error().message);
  EXPECT_THAT(capture()->info().omissions.at(0).why, HasSubstr("uses CUPTI already"));
}

}  // namespace
}  // namespace kernelift
