// See baseline_report.h.
#include "sandbox/evaluate/runner/baseline_report.h"

#include <algorithm>
#include <cstdio>

namespace kernelift::sandbox {

bool BaselineReport::pass() const {
  return std::all_of(instances.begin(), instances.end(), [](auto& instance) { return instance.pass; });
}

std::string BaselineReport::complaint() const {
  for (auto& instance : instances) {
    if (instance.pass) continue;
    if (!instance.failure.empty()) return "instance " + instance.id + ": " + instance.failure;
    for (auto& buffer : instance.buffers)
      if (!buffer.pass) return "instance " + instance.id + ", " + buffer.name + ": " + buffer.detail;
  }
  return unverifiable;
}

std::string no_longer_reproduced(const BaselineReport& report) {
  return "it no longer reproduces its capture: " + report.complaint();
}

std::string only_by_nvcc(const std::string& complaint) {
  return "only builds by nvcc are judged here: the kernel reproduces its capture as nvcc builds it, and not as clang "
         "does (" +
         complaint + ")";
}

std::string takes_long(const std::string& instance, double seconds) {
  char text[160];
  std::snprintf(text, sizeof text, "one run of instance %s takes %.1f s here: it is repeated no more than needed",
                instance.c_str(), seconds);
  return text;
}

std::string does_not_repeat(const std::string& buffer, uint64_t differing, uint64_t elements) {
  return "the original itself does not repeat: " + std::to_string(differing) + " of " + std::to_string(elements) +
         " elements of " + buffer +
         " differ between two runs of it on the same memory (threads race, or it reads a clock, or memory that nothing "
         "wrote), so there is no single answer to compare candidates with";
}

Json to_json(const BaselineReport& report) {
  Json instances = Json::array();
  for (auto& instance : report.instances) {
    Json buffers = Json::array();
    for (auto& buffer : instance.buffers)
      buffers.push_back({{"name", buffer.name},
                         {"bytes", buffer.bytes},
                         {"pass", buffer.pass},
                         {"changed", buffer.changed},
                         {"written", buffer.written},
                         {"exact", buffer.exact},
                         {"tolerance", buffer.tolerance},
                         {"detail", buffer.detail}});
    instances.push_back({{"id", instance.id},
                         {"held_out", instance.held_out},
                         {"pass", instance.pass},
                         {"weight", instance.weight},
                         {"recorded_seconds", instance.recorded_seconds},
                         {"seconds", instance.seconds},
                         {"spread", instance.spread},
                         {"application_seconds", instance.application_seconds},
                         {"fastest_write_seconds", instance.fastest_write_seconds},
                         {"failure", instance.failure},
                         {"buffers", buffers}});
  }
  Json document = {{"instances", instances},
                   {"application_trouble", report.application_trouble},
                   {"application_alone", report.application_alone}};
  if (!report.unverifiable.empty()) document["unverifiable"] = report.unverifiable;
  if (report.confirmation_seconds > 0)
    document["confirmation_seconds"] = report.confirmation_seconds, document["own_seconds"] = report.own_seconds,
    document["perturbing_seconds"] = report.perturbing_seconds;
  return document;
}

Result<BaselineReport> baseline_report_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    BaselineReport report;
    for (auto& entry : from.at("instances")) {
      InstanceReport instance;
      instance.id = entry.at("id"), instance.held_out = entry.at("held_out"), instance.pass = entry.at("pass");
      instance.weight = entry.at("weight"), instance.recorded_seconds = entry.at("recorded_seconds");
      instance.seconds = entry.at("seconds"), instance.spread = entry.at("spread");
      instance.application_seconds = entry.at("application_seconds");
      instance.fastest_write_seconds = entry.at("fastest_write_seconds"), instance.failure = entry.at("failure");
      for (auto& buffer : entry.at("buffers"))
        instance.buffers.push_back({buffer.at("name"), buffer.at("bytes"), buffer.at("pass"), buffer.at("changed"),
                                    buffer.at("detail"), buffer.at("tolerance"), buffer.value("written", false),
                                    buffer.value("exact", true)});
      report.instances.push_back(std::move(instance));
    }
    report.application_trouble = from.at("application_trouble"),
    report.application_alone = from.at("application_alone");
    report.unverifiable = from.value("unverifiable", "");
    report.confirmation_seconds = from.value("confirmation_seconds", 0.0),
    report.own_seconds = from.value("own_seconds", 0.0),
    report.perturbing_seconds = from.value("perturbing_seconds", 0.0);
    return report;
  });
}

}  // namespace kernelift::sandbox
