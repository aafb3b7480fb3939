// A runner on the fake device, calibrated on a MEP.
#pragma once
#include "sandbox/evaluate/runner/runner.h"
#include "sandbox/evaluate/runner/tests/fake_images.h"

namespace kernelift::sandbox::fake {

struct Rig {
  explicit Rig(MepFixture made, RunnerSettings settings = {}, const std::string& application = {},
               const std::string& image = "original", const std::vector<std::string>& at_random = {},
               const std::vector<std::string>& roundings = {}, bool processor = false)
      : fixture(std::move(made)), device(images()) {
    device.editable_facts().processor = processor;
    auto created = Runner::create(device, fixture.mep, fixture.path(), settings, [this](const std::string& what) {
      perturbs |= what.starts_with("perturb ");
      if (!perturbs) announced.push_back(what);
    });
    if (!created.ok()) {
      trouble = created.error().message;
      return;
    }
    runner = std::move(*created);
    Original original;
    original.code.image = image, original.application = application, original.at_random = at_random;
    original.roundings = roundings, original.begins_search = settings.for_candidates;
    auto calibrated = runner->calibrate(original);
    if (calibrated.ok()) report = *calibrated;
    else trouble = calibrated.error().message;
  }
  Verdict judge(const std::string& image, bool confirm = false) {
    RunnableCode code;
    code.image = image;
    Inquiry inquiry;
    inquiry.confirm = confirm;
    return std::get<Verdict>(runner->evaluate(code, inquiry).value_or(Verdict{}));
  }
  MepFixture fixture;
  FakeDevice device;
  std::vector<std::string> announced;  ///< Before inputs are perturbed.
  bool perturbs = false;
  std::unique_ptr<Runner> runner;
  BaselineReport report;
  std::string trouble;
};

}  // namespace kernelift::sandbox::fake
