// A candidate is known from its submission until it is taken out; what is taken back stays known.
#include "tuner/in_flight.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

bool answered(const InFlight& one) {
  return one.evaluation.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

size_t Flight::asked() const { return static_cast<size_t>(std::ranges::count_if(flying_, &InFlight::asked)); }

size_t Flight::count_of(std::string_view tier) const {
  return static_cast<size_t>(std::ranges::count_if(flying_, [&](auto& one) { return one.candidate.tier == tier; }));
}

void Flight::submit(InFlight one, Clock::time_point now) {
  keys_.insert(one.candidate.key());
  one.evaluation = evaluator_.submit(one.candidate), one.begin = now;
  flying_.push_back(std::move(one));
}

void Flight::put_back(InFlight one) {
  if (!one.arm || one.again) return;
  keys_.insert(one.candidate.key());
  again_.push_back({std::move(one.candidate), std::move(one.parents), one.arm, {}, {}, {}, true});
}

bool Flight::submit_again(Clock::time_point now) {
  if (again_.empty()) return false;
  InFlight one = std::move(again_.front());
  again_.pop_front();
  submit(std::move(one), now);
  return true;
}

std::optional<InFlight> Flight::take_answered() {
  auto place = std::ranges::find_if(flying_, answered);
  if (place == flying_.end()) return std::nullopt;
  InFlight taken = std::move(*place);
  flying_.erase(place);
  keys_.erase(taken.candidate.key());
  return taken;
}

void Flight::ask(InFlight measured, Evaluation evaluation) {
  keys_.insert(measured.candidate.key());
  measured.measured = evaluation;
  measured.evaluation = evaluator_.ask_other_sizes(std::move(evaluation), measured.candidate);
  flying_.push_back(std::move(measured));
}

std::vector<InFlight> Flight::take_back() {
  std::vector<InFlight> taken;
  for (auto& one : std::exchange(flying_, {})) {
    if (answered(one)) one.measured = one.evaluation.get();
    auto* verdict = one.measured ? std::get_if<Verdict>(&*one.measured) : nullptr;
    if (verdict && verdict->ok()) {
      keys_.erase(one.candidate.key());
      taken.push_back(std::move(one));
    } else if (one.arm) {  // The end of the search may have made it fail.
      again_.push_back({std::move(one.candidate), std::move(one.parents), one.arm});
    } else {
      keys_.erase(one.candidate.key());
    }
  }
  return taken;
}

void Flight::put_off(Clock::duration time) {
  for (auto& one : flying_) one.begin += time;
}

}  // namespace kernelift::tuner
