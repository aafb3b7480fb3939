// Both ends of the conversation with a runner; see runner_process.h.
#include "sandbox/evaluate/runner_process.h"

#include "sandbox/jail/wire.h"

namespace kernelift {
namespace {

constexpr uint32_t kCalibrate = 1, kEvaluate = 2, kAnswer = 3, kQuiet = 4, kGo = 5, kError = 6;

struct Request {
  TrialCode code;
  std::vector<std::string> roundings;
  Inquiry inquiry;
};

/// Deadlines are points of the machine's steady clock, the same in every process; 0 is none.
uint64_t ticks(const std::optional<Deadline>& deadline) {
  return deadline ? static_cast<uint64_t>(std::max<int64_t>(1, deadline->time_since_epoch().count())) : 0;
}

std::string encode(const TrialCode& code, const std::vector<std::string>& roundings, const Inquiry& inquiry) {
  Candidate carrier;  // Its JSON has everything but the image.
  carrier.launches = code.launches, carrier.scratch = code.scratch, carrier.values = code.values;
  return WireWriter()
      .text(code.image)
      .text(to_json(carrier).dump())
      .texts(roundings)
      .number(inquiry.confirm)
      .real(inquiry.rival)
      .number(ticks(inquiry.deadline))
      .number(inquiry.era)
      .take();
}

std::optional<Request> decode(std::string_view bytes) {
  WireReader reader(bytes);
  Request request;
  request.code.image = reader.text();
  auto json = parse_json(reader.text(), "candidate");
  request.roundings = reader.texts();
  request.inquiry.confirm = reader.number();
  request.inquiry.rival = reader.real();
  if (uint64_t deadline = reader.number())
    request.inquiry.deadline = Deadline(Deadline::duration(static_cast<int64_t>(deadline)));
  request.inquiry.era = reader.number();
  if (!reader.ok() || !json.ok()) return std::nullopt;
  auto carrier = candidate_from_json(*json, "candidate");
  if (!carrier.ok()) return std::nullopt;
  request.code.launches = std::move(carrier->launches), request.code.scratch = std::move(carrier->scratch),
  request.code.values = std::move(carrier->values);
  return request;
}

void serve(Channel& channel, const Mep& mep, const std::filesystem::path& folder, const RunnerSettings& settings) {
  auto quiet = [&](bool wanted) {
    channel.send(kQuiet, WireWriter().number(wanted).take());
    channel.receive();
  };
  auto runner = Runner::create(mep, folder, settings, quiet);
  while (Frame frame = channel.receive()) {
    auto request = decode(frame.body);
    if (!request) return;
    if (!runner.ok()) {
      channel.send(kError, runner.error().message);
    } else if (frame.type == kCalibrate) {
      auto report = (*runner)->calibrate(request->code, request->roundings, request->inquiry.deadline);
      if (report.ok()) channel.send(kAnswer, to_json(*report).dump());
      else channel.send(kError, report.error().message);
    } else {
      auto verdict = (*runner)->evaluate(request->code, request->inquiry);
      channel.send(kAnswer, verdict ? to_json(*verdict).dump() : std::string());
    }
  }
}

}  // namespace

Result<std::unique_ptr<Nursery>> RunnerProcess::nursery(const Mep& mep, const std::filesystem::path& folder,
                                                        const RunnerSettings& settings) {
  return Nursery::start({"kl-runner", {}, [mep, folder, settings](Channel& channel, WorkerCell& cell) {
                           serve(channel, mep, folder, settings);
                         }});
}

Result<std::string> RunnerProcess::ask(uint32_t request, const TrialCode& code,
                                       const std::vector<std::string>& roundings, const Inquiry& inquiry) {
  auto died = [&] { return environment_error("the process that runs candidates ended: " + worker_.end()); };
  if (!worker_.channel().send(request, encode(code, roundings, inquiry))) return died();
  int quiets = 0;
  for (;;) {
    Frame frame = worker_.channel().receive();
    if (frame && frame.type == kQuiet) {
      bool wanted = WireReader(frame.body).number();
      quiets += wanted ? 1 : -1;
      quiet_(wanted);
      worker_.channel().send(kGo, {});
      continue;
    }
    for (; quiets > 0; --quiets) quiet_(false);
    if (frame && frame.type == kError) return environment_error(frame.body);
    if (!frame || frame.type != kAnswer) return died();
    return std::move(frame.body);
  }
}

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::start(Nursery& nursery, const TrialCode& baseline,
                                                            const std::vector<std::string>& roundings,
                                                            std::function<void(bool)> quiet, BaselineReport& report,
                                                            std::optional<Deadline> deadline) {
  KERNELIFT_ASSIGN(Worker worker, nursery.spawn());
  std::unique_ptr<RunnerProcess> process(new RunnerProcess(std::move(worker), std::move(quiet)));
  Inquiry inquiry;
  inquiry.deadline = deadline;
  KERNELIFT_ASSIGN(std::string answer, process->ask(kCalibrate, baseline, roundings, inquiry));
  KERNELIFT_ASSIGN(Json json, parse_json(answer, "the runner's report"));
  KERNELIFT_ASSIGN(report, baseline_report_from_json(json, "the runner's report"));
  return process;
}

std::optional<Verdict> RunnerProcess::evaluate(const TrialCode& candidate, const Inquiry& inquiry) {
  Verdict lost;
  lost.outcome = Outcome::Crashed, lost.stage = Stage::Load;
  auto answer = ask(kEvaluate, candidate, {}, inquiry);
  if (!answer.ok()) {
    lost.detail = answer.error().message;
    return lost;
  }
  if (answer->empty()) return std::nullopt;
  auto json = parse_json(*answer, "verdict");
  auto verdict = json.ok() ? verdict_from_json(*json, "verdict") : Result<Verdict>(json.error());
  if (verdict.ok()) return std::move(*verdict);
  lost.detail = verdict.error().message;
  return lost;
}

}  // namespace kernelift
