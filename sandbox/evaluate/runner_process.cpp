// Both ends of the conversation with a runner; see runner_process.h.
#include "sandbox/evaluate/runner_process.h"

#include "sandbox/jail/wire.h"

namespace kernelift {
namespace {

constexpr uint32_t kCalibrate = 1, kEvaluate = 2, kAnswer = 3, kQuiet = 4, kGo = 5, kError = 6;

std::string encode(const TrialCode& code, const std::vector<std::string>& roundings, bool confirm) {
  Candidate carrier;  // Its JSON has everything but the image.
  carrier.launches = code.launches, carrier.scratch = code.scratch, carrier.values = code.values;
  return WireWriter().text(code.image).text(to_json(carrier).dump()).texts(roundings).number(confirm).take();
}

std::optional<TrialCode> decode(std::string_view bytes, std::vector<std::string>& roundings, bool& confirm) {
  WireReader reader(bytes);
  TrialCode code;
  code.image = reader.text();
  auto json = parse_json(reader.text(), "candidate");
  roundings = reader.texts();
  confirm = reader.number();
  if (!reader.ok() || !json.ok()) return std::nullopt;
  auto carrier = candidate_from_json(*json, "candidate");
  if (!carrier.ok()) return std::nullopt;
  code.launches = std::move(carrier->launches), code.scratch = std::move(carrier->scratch),
  code.values = std::move(carrier->values);
  return code;
}

void serve(Channel& channel, const Mep& mep, const std::filesystem::path& folder, const RunnerSettings& settings) {
  auto quiet = [&](bool wanted) {
    channel.send(kQuiet, WireWriter().number(wanted).take());
    channel.receive();
  };
  auto runner = Runner::create(mep, folder, settings, quiet);
  while (Frame frame = channel.receive()) {
    bool confirm = false;
    std::vector<std::string> roundings;
    auto code = decode(frame.body, roundings, confirm);
    if (!code) return;
    if (!runner.ok()) {
      channel.send(kError, runner.error().message);
    } else if (frame.type == kCalibrate) {
      auto report = (*runner)->calibrate(*code, roundings);
      if (report.ok()) channel.send(kAnswer, to_json(*report).dump());
      else channel.send(kError, report.error().message);
    } else {
      channel.send(kAnswer, to_json((*runner)->evaluate(*code, confirm)).dump());
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
                                       const std::vector<std::string>& roundings, bool confirm) {
  auto died = [&] { return environment_error("the process that runs candidates ended: " + worker_.end()); };
  if (!worker_.channel().send(request, encode(code, roundings, confirm))) return died();
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
                                                            std::function<void(bool)> quiet, BaselineReport& report) {
  KERNELIFT_ASSIGN(Worker worker, nursery.spawn());
  std::unique_ptr<RunnerProcess> process(new RunnerProcess(std::move(worker), std::move(quiet)));
  KERNELIFT_ASSIGN(std::string answer, process->ask(kCalibrate, baseline, roundings, false));
  KERNELIFT_ASSIGN(Json json, parse_json(answer, "the runner's report"));
  KERNELIFT_ASSIGN(report, baseline_report_from_json(json, "the runner's report"));
  return process;
}

Verdict RunnerProcess::evaluate(const TrialCode& candidate, bool confirm) {
  Verdict lost;
  lost.outcome = Outcome::Crashed, lost.stage = Stage::Load;
  auto answer = ask(kEvaluate, candidate, {}, confirm);
  if (!answer.ok()) {
    lost.detail = answer.error().message;
    return lost;
  }
  auto json = parse_json(*answer, "verdict");
  auto verdict = json.ok() ? verdict_from_json(*json, "verdict") : Result<Verdict>(json.error());
  if (verdict.ok()) return std::move(*verdict);
  lost.detail = verdict.error().message;
  return lost;
}

}  // namespace kernelift
