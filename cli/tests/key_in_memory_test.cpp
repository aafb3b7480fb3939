// The key of a model, in the memory of kernelift's processes while it talks to the model.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/tests/slot_folder.h"
#include "sandbox/evaluate/tests/mep_fixture.h"
#include "sandbox/jail/channel.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

/// A server that takes a request and never answers.
class SilentServer {
 public:
  SilentServer() {
    socklen_t size = sizeof address_;
    address_.sin_family = AF_INET, address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listening_.get(), reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_EQ(listen(listening_.get(), 4), 0);
    EXPECT_EQ(getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }
  /// The beginning of the request; empty if none comes.
  std::string request() {
    pollfd waiting{listening_.get(), POLLIN, 0};
    if (poll(&waiting, 1, 120'000) != 1) return {};
    connection_ = sandbox::Descriptor(accept(listening_.get(), nullptr, nullptr));
    char text[4096];
    const ssize_t got = recv(connection_.get(), text, sizeof text, 0);
    return {text, static_cast<size_t>(std::max<ssize_t>(got, 0))};
  }

 private:
  sandbox::Descriptor listening_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}, connection_;
  sockaddr_in address_{};
};

std::vector<pid_t> descendants_of(pid_t ancestor) {
  std::vector<std::pair<pid_t, pid_t>> parents;
  for (auto& entry : fs::directory_iterator("/proc")) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (process <= 0 || !std::getline(file, text) || text.rfind(')') == text.npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + text.rfind(')') + 1, " %c %d", &state, &parent) == 2)
      parents.emplace_back(process, parent);
  }
  std::vector<pid_t> found{ancestor};
  for (size_t i = 0; i < found.size(); ++i)
    for (auto [process, parent] : parents)
      if (parent == found[i]) found.push_back(process);
  found.erase(found.begin());
  return found;
}

/// Whether the text lies in the readable memory of that process; nullopt if that cannot be read.
std::optional<bool> holds(pid_t process, const std::string& text) {
  const fs::path folder = "/proc/" + std::to_string(process);
  std::ifstream maps(folder / "maps"), memory(folder / "mem", std::ios::binary);
  if (!memory) return std::nullopt;
  size_t read_bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char rights[8] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %7s", &begin, &end, rights) != 3 || rights[0] != 'r') continue;
    // Files that are mapped and not written hold what the files hold.
    if (line.find("[v") != line.npos || end - begin > (1ull << 30) || rights[1] != 'w') continue;
    std::string bytes(end - begin, 0);
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(memory.gcount()));
    read_bytes += bytes.size();
    if (bytes.find(text) != bytes.npos) return true;
  }
  return read_bytes > 0 ? std::optional(false) : std::nullopt;
}

TEST(Tune, HasTheModelsKeyInOneProcessOnly) {
  sandbox::MepFixture fixture = sandbox::scale_mep(100000);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  SlotFolder folder;
  SilentServer server;
  std::random_device random;
  const std::string key = "canary-" + std::to_string(random()) + "-" + std::to_string(random());
  const std::string program = (executable_folder() / "kernelift").string(), model = "openai:" + server.url() + ",m",
                    state = folder.path() / ".kernelift", mep = fixture.path();
  const pid_t tune = fork();
  if (tune == 0) {
    setenv("OPENAI_API_KEY", key.c_str(), 1);
    const int nowhere = open((folder.path() / "said").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(nowhere, 1), dup2(nowhere, 2);
    execl(program.c_str(), program.c_str(), "tune", mep.c_str(), "--llm", model.c_str(), "--device", "cpu", "--time",
          "300", "--state", state.c_str(), nullptr);
    _exit(127);
  }
  const std::string request = server.request();
  EXPECT_NE(request.find("Bearer " + key), request.npos) << *read_text(folder.path() / "said");
  EXPECT_EQ(holds(tune, key), std::optional(true)) << "what is looked for is found where it is";
  int looked_at = 0;
  for (pid_t process : descendants_of(tune)) {
    const std::optional<bool> found = holds(process, key);
    looked_at += found.has_value();
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm") >> std::ws, name);
    EXPECT_NE(found, std::optional(true)) << name;
  }
  EXPECT_GE(looked_at, 4) << "fork servers, workers and runners";
  kill(tune, SIGKILL);
  waitpid(tune, nullptr, 0);
}

}  // namespace
}  // namespace kernelift::cli
