// Both ends of the conversation with a GPU runner; see gpu_process.h.
#include "sandbox/evaluate/cuda/runner/gpu_process.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sandbox/evaluate/runner_wire.h"

namespace kernelift {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kOpen = 1, kCalibrate = 2, kEvaluate = 3, kAnswer = 4, kError = 5, kFacts = 6, kTold = 7, kNo = 8;
constexpr auto kOpenLimit = 90s;
constexpr auto kCalibrationLimit = 15min;  // Recorded memory may be many gigabytes.
constexpr auto kEvaluationSlack = 60s;
constexpr auto kProfileLimit = 3min;  // Some dozen passes, each with the memory put back.
constexpr int kLaunchesWorth = 64;

std::string encode(const DeviceFacts& facts) {
  WireWriter writer;
  writer.text(facts.label).text(facts.name).text(facts.arch).number(facts.ordinal).number(facts.memory_bytes);
  writer.number(facts.twins.size());
  for (int twin : facts.twins) writer.number(static_cast<uint64_t>(twin));
  return writer.take();
}

bool decode(std::string_view bytes, DeviceFacts& facts) {
  WireReader reader(bytes);
  facts.label = reader.text(), facts.name = reader.text(), facts.arch = reader.text();
  facts.ordinal = static_cast<int>(reader.number()), facts.memory_bytes = reader.number();
  uint64_t twins = reader.number();
  for (uint64_t i = 0; i < twins && !reader.failed(); ++i) facts.twins.push_back(static_cast<int>(reader.number()));
  return reader.ok();
}

/// The runner's side.
class Server {
 public:
  Server(Channel& channel, WorkerCell& cell, const Mep& mep, const std::filesystem::path& folder,
         const GpuRunnerSettings& settings, const GpuAbilities& abilities)
      : channel_(channel), cell_(cell), mep_(mep), folder_(folder), settings_(settings), abilities_(abilities) {
    settings_.tell = [this](const std::string& text) { channel_.send(kTold, text); };
  }

  void serve() {
    while (Frame frame = channel_.receive()) {
      WireReader reader(frame.body);
      if (frame.type == kOpen) open(static_cast<int>(reader.number()));
      else if (frame.type == kCalibrate) calibrate(reader);
      else if (frame.type == kEvaluate) evaluate(reader);
      else if (frame.type == kFacts) facts();
      else malformed();
      // A context that was lost stays lost, and its kernel may still be running: out, without the driver's own tidying.
      if (runner_ && !runner_->usable()) _exit(0);
    }
  }

 private:
  /// Whoever asked is waiting.
  void malformed() { channel_.send(kError, "the process that uses the GPU was asked what it cannot answer"); }

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
    GpuOriginal original;
    bool good = take(reader, original.code);
    original.roundings = reader.texts(), original.at_random = reader.texts(), original.application = reader.text();
    settings_.cold = reader.number();
    auto fatal = reader.texts();
    if (!good || !reader.ok() || !device_) return malformed();
    settings_.fatal = {fatal.begin(), fatal.end()};
    auto announce = [this](const std::string& experiment) { cell_.set_item(experiment); };
    if (runner_) {
      runner_->ask_anew(settings_.cold, settings_.fatal);
    } else {
      auto runner = GpuRunner::create(*device_, mep_, folder_, settings_, announce);
      if (!runner.ok()) {
        channel_.send(kError, runner.error().message);
        return;
      }
      runner_ = std::move(*runner);
    }
    auto report = runner_->calibrate(original);
    std::string check;
    if (report.ok() && report->pass() && abilities_.trace && !std::exchange(cross_checked_, true)) {
      auto checked = runner_->cross_check(abilities_.trace);
      if (checked.ok()) check = compact(to_json(*checked));
      else report = checked.error();
    }
    if (!report.ok()) channel_.send(report.error().exit == Exit::No ? kNo : kError, report.error().message);
    else
      channel_.send(kAnswer, WireWriter()
                                 .text(compact(to_json(*report)))
                                 .texts(runner_->notes())
                                 .text(check)
                                 .number(runner_->usable())
                                 .take());
  }

  void evaluate(WireReader& reader) {
    TrialCode candidate;
    Inquiry inquiry;
    bool good = take(reader, candidate);
    inquiry.confirm = reader.number(), inquiry.against_application = reader.number(), inquiry.rival = reader.real();
    double seconds = reader.real();
    if (!good || !reader.ok() || !runner_) return malformed();
    if (seconds > 0) inquiry.deadline = after(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3)));
    auto verdict = runner_->evaluate(candidate, inquiry);
    // No verdict is an answer too: this process may be lost all the same.
    channel_.send(kAnswer,
                  WireWriter().text(verdict ? compact(to_json(*verdict)) : "").number(runner_->usable()).take());
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
  GpuRunnerSettings settings_;
  const GpuAbilities& abilities_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<GpuRunner> runner_;
  bool cross_checked_ = false;
};

}  // namespace

Result<std::unique_ptr<Nursery>> GpuProcess::nursery(const Mep& mep, const std::filesystem::path& folder,
                                                     const GpuRunnerSettings& settings, GpuAbilities abilities) {
  return Nursery::start({"kl-gpu", {}, [mep, folder, settings, abilities](Channel& channel, WorkerCell& cell) {
                           report_faults_to(&cell.fault);
                           Server(channel, cell, mep, folder, settings, abilities).serve();
                           // Device memory and context go with the process; leaving by hand would only take longer.
                           _exit(0);
                         }});
}

Result<std::string> GpuProcess::ask(uint32_t request, std::string_view body, std::chrono::milliseconds limit,
                                    const std::function<void(const std::string&)>& tell) {
  bool sent = worker_.channel().send(request, body, {}, after(limit));
  Frame frame;
  while (sent && (frame = worker_.channel().receive(after(limit))) && frame.type == kTold)
    if (tell) tell(frame.body);
  if (frame && frame.type == kAnswer) return std::move(frame.body);
  if (frame && frame.type == kError) return environment_error(frame.body);
  if (frame && frame.type == kNo) return answer_is_no(frame.body);
  std::string end =
      frame.arrival == Arrival::TimedOut ? "it did not answer for " + std::to_string(limit.count() / 1000) + " s" : "";
  // One that closed its end is on its way out by itself; how it went is worth knowing.
  constexpr int kPolls = 200;
  for (int i = 0; i < kPolls && frame.arrival == Arrival::Closed && worker_.alive(); ++i) usleep(1000);
  std::string how = worker_.end();
  return environment_error("the process that uses the GPU ended: " + (end.empty() ? how : end));
}

Result<std::unique_ptr<GpuProcess>> GpuProcess::open(Nursery& nursery, int ordinal) {
  KERNELIFT_ASSIGN(Worker worker, nursery.spawn());
  std::unique_ptr<GpuProcess> process(new GpuProcess(std::move(worker)));
  KERNELIFT_ASSIGN(std::string answer,
                   process->ask(kOpen, WireWriter().number(static_cast<uint64_t>(ordinal)).take(), kOpenLimit));
  if (!decode(answer, process->facts_)) return environment_error("the process that uses the GPU sent nonsense");
  return process;
}

Result<BaselineReport> GpuProcess::calibrate(const GpuOriginal& original, bool cold,
                                             const std::set<std::string>& fatal) {
  WireWriter writer;
  put(writer, original.code);
  writer.texts(original.roundings)
      .texts(original.at_random)
      .text(original.application)
      .number(cold)
      .texts({fatal.begin(), fatal.end()});
  KERNELIFT_ASSIGN(std::string answer, ask(kCalibrate, writer.take(), kCalibrationLimit, original.tell));
  WireReader reader(answer);
  std::string text = reader.text();
  notes_ = reader.texts();
  std::string check = reader.text();
  bool usable = reader.number();
  if (!reader.ok()) return environment_error("the process that uses the GPU sent nonsense");
  if (!usable)
    worker_.end();  // An original that faults or hangs: its process is on its way out, and must not be asked again.
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

Result<std::unique_ptr<GpuProcess>> GpuProcess::start(Nursery& nursery, int ordinal, const GpuOriginal& original,
                                                      bool cold, std::set<std::string>& fatal, BaselineReport& report,
                                                      std::unique_ptr<GpuProcess> opened) {
  for (;;) {
    auto process = std::move(opened);
    bool handed_over = process != nullptr;
    if (!process) {
      KERNELIFT_ASSIGN(process, open(nursery, ordinal));
    }
    auto learned = process->calibrate(original, cold, fatal);
    if (learned.ok()) {
      report = std::move(*learned);
      return process;
    }
    if (learned.error().exit == Exit::No) return std::move(learned).error();
    std::string experiment = process->experiment();
    // What one that was in use before died of may be its past: a fresh one is asked.
    if (experiment.empty() && handed_over && !process->alive()) continue;
    if (experiment.empty() || !fatal.insert(experiment).second) return std::move(learned).error();
  }
}

Result<KernelFacts> GpuProcess::kernel_facts() {
  KERNELIFT_ASSIGN(std::string answer, ask(kFacts, {}, kProfileLimit));
  KERNELIFT_ASSIGN(Json json, parse_json(answer, "the kernel's facts"));
  return kernel_facts_from_json(json, "the kernel's facts");
}

std::optional<Evaluation> GpuProcess::evaluate(const TrialCode& candidate, const Inquiry& inquiry) {
  double seconds = 0;
  if (inquiry.deadline) {
    seconds = std::chrono::duration<double>(*inquiry.deadline - Deadline::clock::now()).count();
    if (seconds <= 0) return std::nullopt;
  }
  WireWriter writer;
  put(writer, candidate);
  writer.number(inquiry.confirm).number(inquiry.against_application).real(inquiry.rival).real(seconds);
  auto answer = ask(kEvaluate, writer.take(), evaluation_limit_);
  answered_ = answer.ok();
  if (!answered_) return evaluation_from_answer(answer);
  WireReader reader(*answer);
  std::string text = reader.text();
  bool usable = reader.number();
  answered_ = reader.ok();
  // Whatever the verdict is called: a process that lost its context leaves by itself, and must not be asked again. It
  // is waited for, so that the next one finds the GPU free.
  if (!answered_ || !usable) worker_.end();
  if (answered_ && text.empty()) return std::nullopt;
  return evaluation_from_answer(std::move(text));
}

}  // namespace kernelift
