// See field_memory.h.
#include "sandbox/device/cpu/executor/field/field_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/cpu/real_number.h"

namespace kernelift::cpu {

namespace {

constexpr uint64_t kWord = FieldObject::kWord, kArguments = 0xa46, kFunctions = 0xf0c;

std::string named(const kl_field_site& site) { return std::string(site.what) + " at " + site.place; }

}  // namespace

FieldMemory::FieldMemory(FieldRequest request)
    : seed_(request.seed), numbers_(request.numbers), constants_meant_(request.constants_meant) {
  for (FieldObject& object : request.objects) {
    const uint64_t begin = object.begin / kWord * kWord;
    if (object.bytes > 0)
      objects_.push_back({begin, object.begin + object.bytes - begin, reinterpret_cast<uint64_t*>(object.states),
                          object.key, object.integers || keeps_recorded()});
  }
  std::ranges::sort(objects_, {}, &Object::begin);
}

FieldMemory FieldMemory::for_worker() const {
  FieldMemory made = *this;
  made.report_ = {}, made.constants_ = nullptr, made.met_ = {};
  made.arguments_.states = made.argument_states_.data();
  return made;
}

void FieldMemory::add(const FieldMemory& worker) {
  const FieldReport& met = worker.report_;
  report_.floats |= met.floats, report_.divisions_by_zero += met.divisions_by_zero;
  if (report_.decided.empty()) report_.decided = met.decided;
  if (report_.function.empty()) report_.function = met.function;
  note_constants(met.constants);
  for (auto& [address, state] : worker.elsewhere_) elsewhere_[address] = state;
}

void FieldMemory::begin_launch(const void* arguments, uint64_t bytes) {
  argument_states_.assign(bytes / kWord + 2, 0);
  met_ = {};
  arguments_ = {reinterpret_cast<uint64_t>(arguments), bytes, argument_states_.data(), kArguments, keeps_recorded()};
}

uint64_t FieldMemory::number_of(double value) const {
  switch (numbers_) {
    case NumberKind::Residues: return prime_field::of_double(value);
    case NumberKind::Precise: return real_number::packed(value);
    default: return real_number::packed(0);  // What is given is exact.
  }
}

FieldWord FieldMemory::find(uint64_t address, const kl_field_site& site) {
  const Object* found = nullptr;
  auto next = std::ranges::upper_bound(objects_, address, {}, &Object::begin);
  if (next != objects_.begin()) found = &*std::prev(next);
  if (!found || address - found->begin >= found->bytes) found = &arguments_;
  const uint64_t offset = address - found->begin;
  if (offset >= found->bytes) return {StateRef(elsewhere_[address])};
  met_[place_of(site)] = {&site, *found};
  return word_of(*found, offset);
}

uint64_t FieldMemory::apply(uint64_t function, uint64_t a, uint64_t b, const kl_field_site& site) {
  note_float();
  if (report_.function.empty()) report_.function = named(site);
  return prime_field::drawn(prime_field::drawn(seed_ ^ kFunctions, function) ^ a, b);
}

uint64_t FieldMemory::divide(uint64_t a, uint64_t b) {
  note_float();
  report_.divisions_by_zero += b == 0;
  // An inverse is sixty products, each of the last. Neighbouring threads divide by the same (a stencil's two sides).
  Inverse& known = inverses_[(b * 0x9e3779b97f4a7c15u) >> (64 - kInverseBits)];
  if (known.of != b) known = {b, prime_field::inverse(b)};
  return prime_field::multiply(a, known.inverse);
}

void FieldMemory::decide(const kl_field_site& site) {
  if (report_.decided.empty()) report_.decided = named(site);
}

void FieldMemory::note_constants(std::span<const uint64_t> constants) {
  std::vector<uint64_t> all;
  std::ranges::set_union(report_.constants, constants, std::back_inserter(all));
  report_.constants = std::move(all);
}

bool FieldMemory::constants_meant(std::span<const uint64_t> constants) {
  if (constants.data() != std::exchange(constants_, constants.data())) note_constants(constants);
  return constants_meant_;
}

struct FieldRun::State {
  FieldMemory memory;
};

FieldRun::FieldRun(FieldRequest request) : state_(new State{FieldMemory(std::move(request))}) {}
FieldRun::~FieldRun() = default;
const FieldReport& FieldRun::report() const { return state_->memory.report(); }
FieldMemory& FieldRun::memory() const { return state_->memory; }

}  // namespace kernelift::cpu
