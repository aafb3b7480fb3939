// The recorder's hooks, seen from a process of its own: this binary runs itself with KERNELIFT_RECORDER set.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "sandbox/device/cpu/runtime/tests/registered.h"

using namespace kernelift::cudart;

namespace {

/// What the recorded process does; only run by the tests below.
class Recorded : public RuntimeTest {};
TEST_F(Recorded, Process) {
  int* data = device_ints({1, 2, 3});
  int count = 3, step = 1;
  CHECK_CUDA(launch(stub.nothing, 1, 1));
  EXPECT_CUDA(cudaErrorNotSupported, launch(stub.refused, 1, 1));
  CHECK_CUDA(launch(stub.add, 7, 64, {&data, &count, &step}));
  EXPECT_EQ(host_ints(data, 3), (std::vector<int>{2, 3, 4}));
}

TEST_F(Recorded, ProcessWithAThreadThatCopies) {
  int* data = device_ints({1, 2, 3});
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int i = 0; !over; ++i) {
      cudaMemset(data, i & 0xff, sizeof(int));
      cudaMemcpy(data, &i, sizeof i, cudaMemcpyHostToDevice);
    }
  });
  for (int i = 0; i < 50; ++i) CHECK_CUDA(launch(stub.nothing, 1, 1));
  over = true;
  other.join();
}

std::string run_recorded(const std::string& recorder, std::string* said, const std::string& process = "Process") {
  std::string output = testing::TempDir() + "probe." + std::to_string(getpid()), errors = output + ".err";
  std::string command = "KL_PROBE_OUTPUT=" + output + " KERNELIFT_RECORDER=" + recorder +
                        " /proc/self/exe --gtest_filter=Recorded." + process + " >/dev/null 2>" + errors;
  std::string self(4096, '\0');
  self.resize(size_t(readlink("/proc/self/exe", self.data(), self.size())));
  command.replace(command.find("/proc/self/exe"), 14, self);
  EXPECT_EQ(std::system(command.c_str()), 0);
  auto slurp = [](const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    unlink(path.c_str());
    return text.str();
  };
  *said = slurp(errors);
  return slurp(output);
}

TEST(Recorder, IsToldOfEveryLaunchWithItsMemoryWhetherItRanAndOfTheEnd) {
  std::string said;
  EXPECT_EQ(run_recorded(KL_RECORDER_PROBE, &said),
            "begun 3 ended 2 torn 0 live 1 at 200000000000 last _Z3addPiii grid 7 block 64 bytes 16 blob 1 image 2\n");
  EXPECT_EQ(said.find("not recorded"), std::string::npos) << said;
}

TEST(Recorder, SeesNoMemoryChangeUnderALaunchButTheLaunchsOwn) {
  std::string said;
  const std::string told = run_recorded(KL_RECORDER_PROBE, &said, "ProcessWithAThreadThatCopies");
  EXPECT_TRUE(told.starts_with("begun 50 ended 50 torn 0 ")) << told;
}

TEST(Recorder, ThatCannotBeLoadedIsNamedAndTheApplicationRunsOn) {
  std::string said;
  EXPECT_EQ(run_recorded("/nowhere/librecorder.so", &said), "");
  EXPECT_NE(said.find("not recorded"), std::string::npos);
  EXPECT_NE(said.find("/nowhere/librecorder.so"), std::string::npos);
}

}  // namespace
