// A request is the kernel's name, the candidate's data and its text, which need not be UTF-8; a reply is JSON.
#include "cli/hostile/judging_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/base/file.h"
#include "sandbox/evaluate/evaluate.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kRequest = 1, kReply = 2;
constexpr size_t kMostTerminal = 1 << 20;  ///< Bytes of the terminal that are kept.

std::string request_text(const std::string& kernel, const Candidate& candidate) {
  Candidate data = candidate;
  data.source = "-";
  std::string head =
      Json{{"kernel", kernel}, {"candidate", to_json(data)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  return head + '\0' + candidate.source;
}

/// The processes of a session, without the leader.
std::vector<std::string> members(pid_t session) {
  std::vector<std::string> found;
  DIR* folder = opendir("/proc");
  while (dirent* entry = folder ? readdir(folder) : nullptr) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (*end || pid == session || getsid(static_cast<pid_t>(pid)) != session) continue;
    auto stat = read_text(fs::path("/proc") / entry->d_name / "stat");
    if (!stat.ok()) continue;
    const size_t name = stat->find('('), behind = stat->rfind(')');
    if (behind == stat->npos || stat->size() < behind + 3 || (*stat)[behind + 2] == 'Z') continue;
    found.push_back(std::string(entry->d_name) + " " + stat->substr(name, behind - name + 1));
  }
  if (folder) closedir(folder);
  return found;
}

class Judge {
 public:
  explicit Judge(const JudgeSettings& settings) : settings_(settings) {}

  Json answer(const std::string& body) {
    const size_t end = std::min(body.find('\0'), body.size() - 1);
    auto request = parse_json(body.substr(0, end), "request");
    if (!request.ok()) return {{"error", request.error().message}};
    auto candidate = candidate_from_json(request->at("candidate"), "request");
    if (!candidate.ok()) return {{"error", candidate.error().message}};
    candidate->source = body.substr(end + 1);
    const std::string kernel = request->at("kernel");
    if (kernel != kernel_)
      if (Status ready = prepare(kernel); !ready.ok()) return {{"error", ready.error().message}};
    // As `kernelift evaluate` and `tune` do: what seems to gain is confirmed. What is called right only is looked at
    // for races and bounds all the same.
    Evaluation evaluation = evaluator_->submit(*candidate).get();
    auto gains = [&] {
      auto* verdict = std::get_if<Verdict>(&evaluation);
      return verdict && verdict->gains();
    };
    const bool confirm = gains();
    evaluation = confirm ? evaluator_->confirm(*candidate) : evaluator_->with_checks(std::move(evaluation), *candidate);
    return {{"evaluation", to_json(evaluation)}, {"confirmed", confirm}};
  }

 private:
  Status prepare(const std::string& kernel) {
    evaluator_.reset(), kernel_.clear();
    const fs::path folder = settings_.meps / kernel;
    KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
    sandbox::EvaluatorOptions options;
    options.device = settings_.device;
    // The suite's kernels take less than a millisecond: what takes seconds hangs.
    options.launch_limit = 2s, options.compile_limit = settings_.quick ? 3s : 6s;
    options.compile_workers = 1, options.few_candidates = true;
    if (settings_.quick) options.most_rounds = 8;
    options.allow_weak_jail = settings_.allow_weak_jail;
    KERNELIFT_ASSIGN(evaluator_, make_evaluator(mep, folder, options));
    kernel_ = kernel;
    return done();
  }

  JudgeSettings settings_;
  std::string kernel_;
  std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace

Exit judge_for(int fd, const JudgeSettings& settings) {
  sandbox::Channel channel{sandbox::Descriptor(fd)};
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  Judge judge(settings);
  while (sandbox::Frame frame = channel.receive()) {
    Json reply = judge.answer(frame.body);
    if (!channel.send(kReply, reply.dump(-1, ' ', false, Json::error_handler_t::replace))) break;
  }
  return Exit::Done;
}

Status JudgingProcess::start() {
  terminal_ = sandbox::Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  char name[128];
  if (!terminal_ || grantpt(terminal_.get()) != 0 || unlockpt(terminal_.get()) != 0 ||
      ptsname_r(terminal_.get(), name, sizeof name) != 0)
    return environment_error(std::string("cannot open a terminal: ") + std::strerror(errno));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    return environment_error(std::string("socketpair: ") + std::strerror(errno));
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  std::vector<std::string> words = {"kernelift",
                                    "selftest",
                                    "--hostile",
                                    "--judge",
                                    std::to_string(ends[1]),
                                    "--device",
                                    settings_.device,
                                    "--meps",
                                    settings_.meps.string()};
  if (settings_.quick) words.push_back("--quick");
  if (settings_.allow_weak_jail) words.push_back("--allow-weak-jail");
  // A driver keeps what it compiled in the home folder, in which nothing may change.
  const std::map<std::string, std::string> own = {
      {"HOME", home_.string()},
      {"OPENAI_API_KEY", key_},
      {"ANTHROPIC_API_KEY", key_},
      {"MY_PRIVATE_TOKEN", key_},
      {"CUDA_CACHE_PATH", (settings_.meps.parent_path() / "cache").string()}};
  std::vector<std::string> environment;
  for (auto& [name, value] : own) environment.push_back(name + "=" + value);
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    if (!own.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  std::vector<char*> arguments, variables;
  for (auto& word : words) arguments.push_back(word.data());
  for (auto& variable : environment) variables.push_back(variable.data());
  arguments.push_back(nullptr), variables.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    setsid();
    const int slave = open(name, O_RDWR);
    ioctl(slave, TIOCSCTTY, 0);
    for (int stream : {0, 1, 2}) dup2(slave, stream);
    if (slave > 2) close(slave);
    if (chdir(work_.c_str()) == 0) execve("/proc/self/exe", arguments.data(), variables.data());
    _exit(127);
  }
  close(ends[1]);
  channel_ = sandbox::Channel(sandbox::Descriptor(ends[0]));
  if (process_ < 0) return environment_error(std::string("fork: ") + std::strerror(errno));
  return done();
}

void JudgingProcess::drain(std::string& terminal) {
  char bytes[4096];
  for (ssize_t got; terminal_ && (got = read(terminal_.get(), bytes, sizeof bytes)) > 0;)
    if (terminal.size() < kMostTerminal) terminal.append(bytes, static_cast<size_t>(got));
}

Result<Judged> JudgingProcess::judge(const std::string& kernel, const Candidate& candidate,
                                     std::chrono::seconds limit) {
  if (process_ <= 0) KERNELIFT_TRY(start());
  Judged judged;
  const sandbox::Deadline end = sandbox::after(limit);
  sandbox::Frame frame;
  if (channel_.send(kRequest, request_text(kernel, candidate), {}, end)) {
    // The terminal is read meanwhile: a process that writes to a full one would stop.
    do {
      drain(judged.terminal);
      frame = channel_.receive(sandbox::after(50ms));
    } while (frame.arrival == sandbox::Arrival::TimedOut && sandbox::Deadline::clock::now() < end);
  }
  drain(judged.terminal);
  if (!frame) {
    judged.lost = frame.arrival == sandbox::Arrival::TimedOut
                      ? "the judging process did not answer for " + std::to_string(limit.count()) + " s"
                      : "the judging process ended";
    stop();
    judged.terminal += last_words_;
    return judged;
  }
  KERNELIFT_ASSIGN(Json reply, parse_json(frame.body, "the judging process's reply"));
  if (reply.contains("error")) return environment_error(kernel + ": " + reply.at("error").get<std::string>());
  KERNELIFT_ASSIGN(judged.evaluation, evaluation_from_json(reply.at("evaluation"), "the judging process's reply"));
  judged.confirmed = reply.at("confirmed");
  return judged;
}

std::vector<std::string> JudgingProcess::stop() {
  if (process_ <= 0) return {};
  channel_.close();
  bool ended = false;
  last_words_.clear();
  auto wait_until = [&](sandbox::Deadline end, auto over) {
    while (!over() && sandbox::Deadline::clock::now() < end) drain(last_words_), std::this_thread::sleep_for(10ms);
    return over();
  };
  auto gone = [&] { return ended = ended || waitpid(process_, nullptr, WNOHANG) == process_; };
  if (!wait_until(sandbox::after(10s), gone)) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  std::vector<std::string> left;
  wait_until(sandbox::after(3s), [&] { return (left = members(process_)).empty(); });
  for (auto& member : left) kill(static_cast<pid_t>(std::atoi(member.c_str())), SIGKILL);
  drain(last_words_);
  process_ = -1, terminal_.reset();
  return left;
}

}  // namespace kernelift::cli
