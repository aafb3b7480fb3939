// Both ends of the connection to a runner's process; see runner_process.h.
#include "sandbox/evaluate/runner/runner_process.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sandbox/evaluate/runner/wire/runner_wire.h"

namespace kernelift::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kOpen = 1, kCalibrate = 2, kEvaluate = 3, kAnswer = 4, kError = 5, kFacts = 6, kTold = 7, kNo = 8,
                   kQuiet = 9, kGo = 10, kAskLengths = 11, kLengths = 12, kAskReference = 13;
constexpr std::chrono::milliseconds kOpenLimit = 90s, kShortestOpen = 1s;
constexpr auto kCalibrationLimit = 15min;  // Recorded memory may be many gigabytes.
constexpr auto kEvaluationSlack = 60s;
constexpr auto kProfileLimit = 3min;  // For some dozen passes, each on restored memory.
constexpr int kLaunchesWorth = 256;

/// Those limits that a person is told.
template <typename Facts>
auto limits_of(Facts& facts) {
  return std::tie(facts.cores, facts.multiprocessors, facts.threads_per_multiprocessor, facts.blocks_per_multiprocessor,
                  facts.registers_per_multiprocessor, facts.shared_per_multiprocessor, facts.max_threads_per_block,
                  facts.shared_per_block, facts.shared_per_block_optin, facts.cache_bytes);
}

std::string encode(const DeviceFacts& facts) {
  WireWriter writer;
  writer.text(facts.label).text(facts.name).text(facts.arch).number(facts.ordinal).number(facts.memory_bytes);
  std::apply([&](auto... limits) { (writer.number(limits), ...); }, limits_of(facts));
  writer.number(facts.processor).number(facts.same_model.size());
  for (int ordinal : facts.same_model) writer.number(static_cast<uint64_t>(ordinal));
  return writer.take();
}

bool decode(std::string_view bytes, DeviceFacts& facts) {
  WireReader reader(bytes);
  facts.label = reader.text(), facts.name = reader.text(), facts.arch = reader.text();
  facts.ordinal = static_cast<int>(reader.number()), facts.memory_bytes = reader.number();
  std::apply([&](auto&... limits) { ((limits = static_cast<std::decay_t<decltype(limits)>>(reader.number())), ...); },
             limits_of(facts));
  facts.processor = reader.number();
  uint64_t same_model = reader.number();
  for (uint64_t i = 0; i < same_model && !reader.failed(); ++i)
    facts.same_model.push_back(static_cast<int>(reader.number()));
  return reader.ok();
}

/// The runner's end.
class Server {
 public:
  Server(Channel& channel, WorkerCell& cell, const Mep& mep, const std::filesystem::path& folder,
         const RunnerSettings& settings, const RunnerAbilities& abilities)
      : channel_(channel), cell_(cell), mep_(mep), folder_(folder), settings_(settings), abilities_(abilities) {
    settings_.tell = [this](const std::string& text) { channel_.send(kTold, text); };
    if (settings_.keep_quiet)
      settings_.quiet = [this](bool wanted) {
        channel_.send(kQuiet, WireWriter().number(wanted).take());
        channel_.receive();
      };
    settings_.lengths = [this](const std::vector<LengthQuestion>& questions) {
      WireWriter writer;
      writer.number(questions.size());
      for (auto& question : questions) writer.text(encoded(question));
      channel_.send(kAskLengths, writer.take());
      std::vector<LengthAnswer> answers;
      for (size_t i = 0; i < questions.size(); ++i) {
        auto answer = decoded_answer(channel_.receive().body);
        answers.push_back(answer ? std::move(*answer) : LengthAnswer{{}, "the answer is malformed", false});
      }
      return answers;
    };
    settings_.why_no_reference = [this](const SizedInstance& sized) {
      SizePlan one;
      one.launches.push_back(sized);
      channel_.send(kAskReference, encoded(one));
      return channel_.receive().body;
    };
  }

  void serve() {
    while (Frame frame = channel_.receive()) {
      WireReader reader(frame.body);
      if (frame.type == kOpen) open(static_cast<int>(reader.number()));
      else if (frame.type == kCalibrate) calibrate(reader);
      else if (frame.type == kEvaluate) evaluate(reader);
      else if (frame.type == kLengths) lengths(reader);
      else if (frame.type == kFacts) facts();
      else malformed();
      // The device is lost and its kernel may still be running: exit without the driver's cleanup, which could hang.
      if (runner_ && !runner_->usable()) _exit(0);
    }
  }

 private:
  /// Every request gets an answer, since the other end waits for one.
  void malformed() { channel_.send(kError, "the process that measures got a request that it cannot answer"); }

  void open(int ordinal) {
    auto device = abilities_.device(ordinal);
    if (!device.ok()) {
      channel_.send(kError, device.error().message);
      return;
    }
    device_ = std::move(*device);
    channel_.send(kAnswer, encode(device_->facts()));
  }

  void calibrate(WireReader& reader) {
    Original original;
    bool good = take(reader, original.code);
    original.roundings = reader.texts(), original.at_random = reader.texts(), original.application = reader.text();
    original.begins_search = reader.number(), settings_.cold = reader.number();
    auto fatal = reader.texts();
    settings_.deadline = deadline_from(reader.real());
    if (!good || !reader.ok() || !device_) return malformed();
    settings_.fatal = {fatal.begin(), fatal.end()};
    Laps laps;
    auto announce = [this](const std::string& experiment) { cell_.set_item(experiment); };
    if (runner_) {
      runner_->reconfigure(settings_.cold, settings_.fatal, settings_.deadline);
    } else {
      auto runner = Runner::create(*device_, mep_, folder_, settings_, announce);
      if (!runner.ok()) {
        fail(runner.error());
        return;
      }
      runner_ = std::move(*runner);
      laps.end("placing what was recorded");
    }
    auto report = runner_->calibrate(original);
    laps.end_with(runner_->laps(), "launching it");
    std::string check;
    if (report.ok() && report->pass() && abilities_.trace && !std::exchange(cross_checked_, true)) {
      auto checked = runner_->cross_check(abilities_.trace);
      if (checked.ok()) check = compact(to_json(*checked));
      else report = checked.error();
      laps.end("a second clock");
    }
    if (!report.ok()) fail(report.error());
    else answer(*report, check, laps);
  }

  void fail(const Error& error) { channel_.send(error.exit == Exit::No ? kNo : kError, error.message); }

  void answer(const BaselineReport& report, const std::string& check, const Laps& laps) {
    WireWriter writer;
    writer.text(compact(to_json(report))).texts(runner_->notes()).text(check).number(runner_->usable());
    laps.put(writer);
    channel_.send(kAnswer, writer.take());
  }

  void evaluate(WireReader& reader) {
    RunnableCode candidate;
    Inquiry inquiry;
    bool good = take(reader, candidate);
    inquiry.confirm = reader.number(), inquiry.against_application = reader.number(), inquiry.rival = reader.real();
    inquiry.deadline = deadline_from(reader.real()), inquiry.era = reader.number();
    inquiry.check = reader.number(), inquiry.field = reader.number(), inquiry.held_to_length = reader.number();
    inquiry.untimed = reader.number();
    auto sizes = decoded_plan(reader.text());
    if (!good || !reader.ok() || !sizes || !runner_) return malformed();
    inquiry.sizes = std::move(*sizes);
    auto verdict = runner_->evaluate(candidate, inquiry);
    // An answer is sent without a verdict too: it tells whether this process is still usable.
    WireWriter writer;
    writer.text(verdict ? compact(to_json(*verdict)) : "").number(runner_->usable()).real(runner_->promise());
    runner_->laps().put(writer);
    channel_.send(kAnswer, writer.take());
  }

  void lengths(WireReader& reader) {
    RunnableCode code;
    bool good = take(reader, code);
    auto question = decoded_question(reader.text());
    if (!good || !reader.ok() || !question || !runner_) return malformed();
    channel_.send(kAnswer, encoded(runner_->length_bounds(code, *question)));
  }

  void facts() {
    if (!runner_) return malformed();
    auto found = runner_->kernel_facts(abilities_.profile);
    if (!found.ok()) channel_.send(kError, found.error().message);
    else channel_.send(kAnswer, compact(to_json(*found)));
  }

  Channel& channel_;
  WorkerCell& cell_;
  const Mep& mep_;
  const std::filesystem::path& folder_;
  RunnerSettings settings_;
  const RunnerAbilities& abilities_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Runner> runner_;
  bool cross_checked_ = false;
};

}  // namespace

Result<std::unique_ptr<ForkServer>> RunnerProcess::fork_server(const Mep& mep, const std::filesystem::path& folder,
                                                               const RunnerSettings& settings,
                                                               RunnerAbilities abilities) {
  return ForkServer::start({"kl-runner", abilities.prepare,
                            [mep, folder, settings, abilities](Channel& channel, WorkerCell& cell) {
                              report_faults_to(&cell.fault);
                              Server(channel, cell, mep, folder, settings, abilities).serve();
                              // The system frees device memory and context with the process; destructors would only
                              // take longer.
                              _exit(0);
                            },
                            abilities.apart});
}

void RunnerProcess::answer_lengths(std::string_view asked) {
  WireReader reader(asked);
  std::vector<LengthQuestion> questions;
  size_t count = 0;
  for (uint64_t left = reader.number(); left > 0 && !reader.failed(); --left, ++count)
    if (auto question = decoded_question(reader.text())) questions.push_back(std::move(*question));
  std::vector<LengthAnswer> answers(count, LengthAnswer{{}, "there is no CPU device for it", false});
  if (lengths_ && questions.size() == count) answers = lengths_(questions);
  // One after another, so that they need not all be in memory twice.
  for (auto& answer : answers) worker_.channel().send(kGo, encoded(std::exchange(answer, {})));
}

void RunnerProcess::answer_reference(std::string_view asked) {
  const auto plan = decoded_plan(std::string(asked));
  const bool answers = why_no_reference_ && plan && plan->launches.size() == 1;
  worker_.channel().send(kGo, answers ? why_no_reference_(plan->launches[0]) : "");
}

Result<std::string> RunnerProcess::request(uint32_t type, std::string_view body, std::chrono::milliseconds limit,
                                           const std::function<void(const std::string&)>& tell) {
  bool sent = worker_.channel().send(type, body, {}, after(limit));
  Frame frame;
  int quiets = 0;
  while (sent && (frame = worker_.channel().receive(after(limit))) &&
         (frame.type == kTold || frame.type == kQuiet || frame.type == kAskLengths || frame.type == kAskReference)) {
    if (frame.type == kTold) {
      if (tell) tell(frame.body);
      continue;
    }
    if (frame.type == kAskLengths) {
      answer_lengths(frame.body);
      continue;
    }
    if (frame.type == kAskReference) {
      answer_reference(frame.body);
      continue;
    }
    bool wanted = WireReader(frame.body).number();
    quiets += wanted ? 1 : -1;
    if (quiet_) quiet_(wanted);
    worker_.channel().send(kGo, {});
  }
  for (; quiets > 0; --quiets)
    if (quiet_) quiet_(false);
  if (frame && frame.type == kAnswer) return std::move(frame.body);
  if (frame && frame.type == kError) return environment_error(frame.body);
  if (frame && frame.type == kNo) return answer_is_no(frame.body);
  std::string end =
      frame.arrival == Arrival::TimedOut ? "it did not answer for " + std::to_string(limit.count() / 1000) + " s" : "";
  // A process that closed its end is exiting; wait briefly, to report how it ended.
  constexpr int kPolls = 200;
  for (int i = 0; i < kPolls && frame.arrival == Arrival::Closed && worker_.alive(); ++i) usleep(1000);
  std::string how = worker_.end();
  return environment_error("the process that measures ended: " + (end.empty() ? how : end));
}

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::open(ForkServer& fork_server, int ordinal,
                                                           std::function<void(bool)> quiet,
                                                           std::optional<Deadline> deadline) {
  // A second is allowed past the deadline, so that a broken device or missing data is still reported as such.
  std::chrono::milliseconds limit = kOpenLimit;
  if (deadline)
    limit = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(*deadline - Deadline::clock::now()), kShortestOpen,
                       limit);
  KERNELIFT_ASSIGN(Worker worker, fork_server.spawn());
  std::unique_ptr<RunnerProcess> process(new RunnerProcess(std::move(worker), std::move(quiet)));
  auto answer = process->request(kOpen, WireWriter().number(static_cast<uint64_t>(ordinal)).take(), limit);
  if (!answer.ok() && (!deadline || Deadline::clock::now() < *deadline)) return std::move(answer).error();
  if (!answer.ok())
    return answer_is_no(
        "the time was over before the device had been opened, so nothing could be tried; give it more time (--time)");
  if (!decode(*answer, process->facts_)) return environment_error("the process that measures sent a malformed answer");
  return process;
}

Result<BaselineReport> RunnerProcess::calibrate(const Original& original, bool cold, const std::set<std::string>& fatal,
                                                std::optional<Deadline> deadline) {
  WireWriter writer;
  put(writer, original.code);
  writer.texts(original.roundings)
      .texts(original.at_random)
      .text(original.application)
      .number(original.begins_search)
      .number(cold)
      .texts({fatal.begin(), fatal.end()})
      .real(seconds_until(deadline));
  KERNELIFT_ASSIGN(std::string answer, request(kCalibrate, writer.take(), kCalibrationLimit, original.tell));
  WireReader reader(answer);
  std::string text = reader.text();
  notes_ = reader.texts();
  std::string check = reader.text();
  bool usable = reader.number();
  laps_ = Laps::taken(reader);
  if (!reader.ok()) return environment_error("the process that measures sent a malformed answer");
  if (!usable) worker_.end();  // The original faulted or hung: the process is exiting and must not be used again.
  KERNELIFT_ASSIGN(Json json, parse_json(text, "the runner's report"));
  KERNELIFT_ASSIGN(BaselineReport report, baseline_report_from_json(json, "the runner's report"));
  if (!check.empty()) {
    KERNELIFT_ASSIGN(Json checked, parse_json(check, "the runner's cross-check"));
    KERNELIFT_ASSIGN(cross_check_, cross_check_from_json(checked, "the runner's cross-check"));
  }
  double launches = 0;
  for (auto& instance : report.instances) launches += instance.seconds;
  evaluation_limit_ =
      kEvaluationSlack + std::chrono::milliseconds(static_cast<int64_t>(launches * kLaunchesWorth * 1e3));
  return report;
}

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::start(ForkServer& fork_server, int ordinal,
                                                            const Original& original, bool cold,
                                                            std::set<std::string>& fatal, BaselineReport& report,
                                                            RunnerStart with) {
  for (;;) {
    auto process = std::move(with.opened);
    bool handed_over = process != nullptr;
    if (!process) {
      KERNELIFT_ASSIGN(process, open(fork_server, ordinal, with.quiet, with.deadline));
    }
    process->lengths_ = with.lengths, process->why_no_reference_ = with.why_no_reference;
    auto learned = process->calibrate(original, cold, fatal, with.deadline);
    if (learned.ok()) {
      report = std::move(*learned);
      return process;
    }
    if (learned.error().exit == Exit::No) return std::move(learned).error();
    std::string experiment = process->experiment();
    // A process that was used before may have ended because of its past: try a fresh one.
    if (experiment.empty() && handed_over && !process->alive()) continue;
    if (experiment.empty() || !fatal.insert(experiment).second) return std::move(learned).error();
  }
}

Result<KernelFacts> RunnerProcess::kernel_facts() {
  KERNELIFT_ASSIGN(std::string answer, request(kFacts, {}, kProfileLimit));
  KERNELIFT_ASSIGN(Json json, parse_json(answer, "the kernel's facts"));
  return kernel_facts_from_json(json, "the kernel's facts");
}

LengthAnswer RunnerProcess::length_bounds(const RunnableCode& code, const LengthQuestion& question) {
  WireWriter writer;
  put(writer, code);
  auto answer = request(kLengths, writer.text(encoded(question)).take(), evaluation_limit_);
  if (!answer.ok()) return {{}, answer.error().message, true};
  auto read = decoded_answer(*answer);
  return read ? std::move(*read) : LengthAnswer{{}, "the answer is malformed", true};
}

std::optional<Evaluation> RunnerProcess::evaluate(const RunnableCode& candidate, const Inquiry& inquiry) {
  if (inquiry.deadline && *inquiry.deadline <= Deadline::clock::now()) return std::nullopt;
  WireWriter writer;
  put(writer, candidate);
  writer.number(inquiry.confirm).number(inquiry.against_application).real(inquiry.rival);
  writer.real(seconds_until(inquiry.deadline))
      .number(inquiry.era)
      .number(inquiry.check)
      .number(inquiry.field)
      .number(inquiry.held_to_length)
      .number(inquiry.untimed)
      .text(encoded(inquiry.sizes));
  auto answer = request(kEvaluate, writer.take(), evaluation_limit_);
  answered_ = answer.ok(), promise_ = 0, laps_ = {};
  if (!answered_) return evaluation_from_answer(answer);
  WireReader reader(*answer);
  std::string text = reader.text();
  bool usable = reader.number();
  promise_ = reader.real();
  laps_ = Laps::taken(reader);
  answered_ = reader.ok();
  // Independently of the verdict, a process that lost its device exits by itself and must not be used again. Wait for
  // its end, so that the next one finds the GPU free.
  if (!answered_ || !usable) worker_.end();
  if (answered_ && text.empty()) return std::nullopt;
  return evaluation_from_answer(std::move(text));
}

}  // namespace kernelift::sandbox
