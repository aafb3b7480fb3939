// See graph_parts.h. A node that the application has switched off itself stays off throughout.
#include "extractor/record/cuda/graphs/graph_parts.h"

namespace kernelift::record {

bool GraphParts::set(size_t step, bool on) {
  if (on_[step] == on) return true;
  if (driver_.cuGraphNodeSetEnabled(graph_, steps_[step].handle, on) != CUDA_SUCCESS) return false;
  on_[step] = on;
  return true;
}

template <class Wanted>
const std::vector<size_t>& GraphParts::switch_to(Wanted wanted) {
  failed_.clear();
  for (size_t i = 0; i < on_.size(); ++i)
    if (!set(i, wanted(i)) && !set(i, wanted(i))) failed_.push_back(i);
  return failed_;
}

Status GraphParts::begin() {
  failed_.reserve(steps_.size());
  was_.assign(steps_.size(), false), on_ = ran_ = was_;
  auto cannot = [&](CUresult why) {
    return refused("its graph cannot be run in parts: " + cuda_error_text(driver_, why));
  };
  if (!driver_.cuGraphNodeSetEnabled || !driver_.cuGraphNodeGetEnabled || !driver_.cuGraphLaunch)
    return refused("its graph cannot be run in parts: NVIDIA's driver 510 or newer can");
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].empty) continue;
    unsigned enabled = 0;
    CUresult answer = driver_.cuGraphNodeGetEnabled(graph_, steps_[i].handle, &enabled);
    if (answer != CUDA_SUCCESS) return cannot(answer);
    was_[i] = on_[i] = enabled != 0;
  }
  if (!switch_to([](size_t) { return false; }).empty()) return cannot(CUDA_ERROR_NOT_SUPPORTED);
  return done();
}

Status GraphParts::run_chosen(const std::vector<bool>& chosen) {
  bool any = false;
  auto& failed = switch_to([&](size_t i) {
    bool on = chosen[i] && was_[i] && !ran_[i];
    any |= on;
    return on;
  });
  if (!failed.empty()) return environment_error("a node of its graph could not be switched");
  if (!any) return done();
  CUresult answer = driver_.cuGraphLaunch(graph_, stream_);
  if (answer != CUDA_SUCCESS) return environment_error("a part of its graph: " + cuda_error_text(driver_, answer));
  for (size_t i = 0; i < steps_.size(); ++i) ran_[i] = ran_[i] || on_[i];
  return done();
}

Status GraphParts::run_before(size_t step) {
  std::vector<bool> chosen(steps_.size(), false);
  std::vector<size_t> open = steps_[step].after;
  while (!open.empty()) {
    size_t one = open.back();
    open.pop_back();
    if (chosen[one]) continue;
    chosen[one] = true;
    open.insert(open.end(), steps_[one].after.begin(), steps_[one].after.end());
  }
  return run_chosen(chosen);
}

Status GraphParts::run(size_t step) {
  std::vector<bool> chosen(steps_.size(), false);
  chosen[step] = true;
  return run_chosen(chosen);
}

const std::vector<size_t>& GraphParts::leave_rest() {
  return switch_to([&](size_t i) { return was_[i] && !ran_[i]; });
}

const std::vector<size_t>& GraphParts::restore() {
  return switch_to([&](size_t i) { return bool(was_[i]); });
}

}  // namespace kernelift::record
