// kernelift doctor: what this machine provides, what it lacks, and the commands that fix it.
#include <algorithm>

#include "cli/machine/machine.h"
#include "cli/verbs.h"

namespace kernelift::cli {
namespace {

const char* mark(const Finding& finding) {
  if (finding.health == Health::Good) return "ok     ";
  return finding.health == Health::Limited ? "limited" : "MISSING";
}

/// True if candidates can be confined.
bool jails(const std::vector<Finding>& findings) {
  return std::ranges::none_of(findings,
                              [](auto& one) { return one.area == "isolation" && one.health == Health::Missing; });
}

/// True if everything that the whole loop on a GPU needs is present.
bool gpus(const std::vector<Finding>& findings) {
  auto good = [&](std::string_view name) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](auto& one) { return one.name.starts_with(name) && one.health == Health::Good; });
  };
  return good("cuda:") && good("nvcc") && good("CUPTI") && good("CUDA recorder");
}

/// True if `--device cuda`, or the GPU that it names, is there.
bool has_device(const std::vector<Finding>& findings, const std::string& device) {
  return gpus(findings) && std::ranges::any_of(findings, [&](auto& one) {
           return device == "cuda" || (one.health == Health::Good && one.name == device);
         });
}

Result<Exit> doctor(const Context& context) {
  std::vector<Finding> findings = survey_machine();
  Json list = Json::array();
  std::string area, text;
  bool usable = true;
  for (auto& finding : findings) {
    usable &= !(finding.required && finding.health == Health::Missing);
    list.push_back({{"area", finding.area},
                    {"name", finding.name},
                    {"state", finding.health == Health::Good      ? "good"
                              : finding.health == Health::Limited ? "limited"
                                                                  : "missing"},
                    {"detail", finding.detail},
                    {"fix", finding.fix},
                    {"required", finding.required}});
    if (finding.area != area) text += (area.empty() ? "" : "\n") + finding.area + "\n", area = finding.area;
    char head[64];
    std::snprintf(head, sizeof head, "  %s  %-20s", mark(finding), finding.name.c_str());
    text += head + finding.detail + "\n";
    if (!finding.fix.empty()) text += "             " + std::string(20, ' ') + "fix: " + finding.fix + "\n";
  }
  const bool lacks_device = context.device.starts_with("cuda") && !has_device(findings, context.device);
  text += !usable            ? "\nFix the findings marked MISSING first."
          : !jails(findings) ? "\nThis machine cannot confine code that is not yours: what is marked MISSING under "
                               "isolation is needed, or "
                               "--allow-weak-jail."
          : lacks_device     ? "\nThis machine cannot run it on --device " + context.device + "."
          : gpus(findings)   ? "\nThis machine can run the whole loop on its NVIDIA GPU and on the CPU device."
                             : "\nThis machine can run the whole loop on the CPU device.";
  if (context.json) context.emit({{"usable", usable}, {"confines_candidates", jails(findings)}, {"findings", list}});
  else context.say_lines(text);
  return usable && !lacks_device ? Exit::Done : Exit::Environment;
}

}  // namespace

const Verb kDoctor = {"doctor", "List what this machine provides and lacks, with commands that fix it",
                      "kernelift doctor", [](CLI::App&) -> Action { return doctor; }};

}  // namespace kernelift::cli
