// Both ends of the conversation with a runner; see runner_process.h.
#include "sandbox/evaluate/cpu/runner_process.h"

#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/evaluate/runner_wire.h"

namespace kernelift {
namespace {

constexpr uint32_t kCalibrate = 1, kEvaluate = 2, kAnswer = 3, kQuiet = 4, kGo = 5, kError = 6, kTold = 7, kNo = 8;

struct Request {
  TrialCode code;
  Roundings roundings;
  Inquiry inquiry;
};

/// Deadlines are points of the machine's steady clock, the same in every process; 0 is none.
uint64_t ticks(const std::optional<Deadline>& deadline) {
  return deadline ? static_cast<uint64_t>(std::max<int64_t>(1, deadline->time_since_epoch().count())) : 0;
}

std::string encode(const TrialCode& code, const Roundings& roundings, const Inquiry& inquiry) {
  WireWriter writer;
  put(writer, code);
  return writer.texts(roundings.ways)
      .texts(roundings.at_random)
      .number(inquiry.confirm)
      .real(inquiry.rival)
      .number(ticks(inquiry.deadline))
      .number(inquiry.era)
      .take();
}

std::optional<Request> decode(std::string_view bytes) {
  WireReader reader(bytes);
  Request request;
  bool good = take(reader, request.code);
  request.roundings.ways = reader.texts(), request.roundings.at_random = reader.texts();
  request.inquiry.confirm = reader.number();
  request.inquiry.rival = reader.real();
  if (uint64_t deadline = reader.number())
    request.inquiry.deadline = Deadline(Deadline::duration(static_cast<int64_t>(deadline)));
  request.inquiry.era = reader.number();
  return good && reader.ok() ? std::optional(std::move(request)) : std::nullopt;
}

void serve(Channel& channel, const Mep& mep, const std::filesystem::path& folder, const RunnerSettings& settings) {
  RunnerVoice voice;
  voice.quiet = [&](bool wanted) {
    channel.send(kQuiet, WireWriter().number(wanted).take());
    channel.receive();
  };
  voice.tell = [&](const std::string& text) { channel.send(kTold, text); };
  auto runner = Runner::create(mep, folder, settings, voice);
  while (Frame frame = channel.receive()) {
    auto request = decode(frame.body);
    if (!request) return;
    if (!runner.ok()) {
      channel.send(kError, runner.error().message);
    } else if (frame.type == kCalibrate) {
      auto report = (*runner)->calibrate(request->code, request->roundings, request->inquiry.deadline);
      if (report.ok()) channel.send(kAnswer, compact(to_json(*report)));
      else channel.send(report.error().exit == Exit::No ? kNo : kError, report.error().message);
    } else {
      auto verdict = (*runner)->evaluate(request->code, request->inquiry);
      channel.send(kAnswer, verdict ? compact(to_json(*verdict)) : std::string());
    }
  }
}

}  // namespace

Result<std::unique_ptr<Nursery>> RunnerProcess::nursery(const Mep& mep, const std::filesystem::path& folder,
                                                        const RunnerSettings& settings) {
  auto run = [mep, folder, settings](Channel& channel, WorkerCell&) { serve(channel, mep, folder, settings); };
  return Nursery::start({"kl-runner", cpu::open_image_libraries, run});
}

Result<std::string> RunnerProcess::ask(uint32_t request, const TrialCode& code, const Roundings& roundings,
                                       const Inquiry& inquiry) {
  auto died = [&] { return environment_error("the process that runs candidates ended: " + worker_.end()); };
  if (!worker_.channel().send(request, encode(code, roundings, inquiry))) return died();
  int quiets = 0;
  for (;;) {
    Frame frame = worker_.channel().receive();
    if (frame && frame.type == kQuiet) {
      bool wanted = WireReader(frame.body).number();
      quiets += wanted ? 1 : -1;
      voice_.quiet(wanted);
      worker_.channel().send(kGo, {});
      continue;
    }
    if (frame && frame.type == kTold) {
      voice_.tell(frame.body);
      continue;
    }
    for (; quiets > 0; --quiets) voice_.quiet(false);
    if (frame && frame.type == kError) return environment_error(frame.body);
    if (frame && frame.type == kNo) return answer_is_no(frame.body);
    if (!frame || frame.type != kAnswer) return died();
    return std::move(frame.body);
  }
}

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::start(Nursery& nursery, const TrialCode& baseline,
                                                            const Roundings& roundings, RunnerVoice voice,
                                                            BaselineReport& report, std::optional<Deadline> deadline) {
  KERNELIFT_ASSIGN(Worker worker, nursery.spawn());
  std::unique_ptr<RunnerProcess> process(new RunnerProcess(std::move(worker), std::move(voice)));
  Inquiry inquiry;
  inquiry.deadline = deadline;
  KERNELIFT_ASSIGN(std::string answer, process->ask(kCalibrate, baseline, roundings, inquiry));
  KERNELIFT_ASSIGN(Json json, parse_json(answer, "the runner's report"));
  KERNELIFT_ASSIGN(report, baseline_report_from_json(json, "the runner's report"));
  return process;
}

std::optional<Evaluation> RunnerProcess::evaluate(const TrialCode& candidate, const Inquiry& inquiry) {
  auto answer = ask(kEvaluate, candidate, {}, inquiry);
  if (answer.ok() && answer->empty()) return std::nullopt;
  return evaluation_from_answer(answer);
}

}  // namespace kernelift
