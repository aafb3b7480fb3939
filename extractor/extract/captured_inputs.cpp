// See captured_inputs.h. The one thing a MEP cannot reproduce is the address of a module variable: in a new image it is
// another one. Where an argument holds such an address the kernel is refused by name; where memory seems to, the README
// says so.
#include "extractor/extract/captured_inputs.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <set>

#include "sandbox/judge/element.h"

namespace kernelift {
namespace {

constexpr size_t kWord = sizeof(uint64_t);

uint64_t word_at(std::span<const std::byte> bytes, size_t at) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + at, kWord);
  return value;
}

/// "arg 2 +8" -> 2 and 8; -1 for memory that no argument reaches directly.
std::pair<int, uint64_t> argument_of(std::string_view reached_from) {
  if (!reached_from.starts_with("arg ")) return {-1, 0};
  reached_from.remove_prefix(4);
  int argument = -1;
  uint64_t offset = 0;
  auto [end, code] = std::from_chars(reached_from.begin(), reached_from.end(), argument);
  if (code != std::errc()) return {-1, 0};
  if (std::string_view rest(end, size_t(reached_from.end() - end)); rest.starts_with(" +"))
    std::from_chars(rest.begin() + 2, rest.end(), offset);
  return {argument, offset};
}

/// "0x7f12 +8" -> the address.
uint64_t parent_of(const std::string& reached_from) {
  return reached_from.starts_with("0x") ? std::strtoull(reached_from.c_str(), nullptr, 16) : 0;
}

std::string trimmed(std::string text) {
  while (text.ends_with(' ')) text.pop_back();
  while (text.starts_with(' ')) text.erase(0, 1);
  return text;
}

/// "float *" without its last star, "" if it is no pointer type.
std::string pointed_to(std::string type) {
  for (bool again = true; again;) {
    again = false;
    for (const char* word : {"const", "volatile", "__restrict", "restrict"})
      if (type = trimmed(type); type.ends_with(word)) type.resize(type.size() - std::strlen(word)), again = true;
  }
  if (!type.ends_with('*')) return "";
  type.pop_back();
  return trimmed(type);
}

const CapturedVariable* variable_at(const CapturedInstance& instance, uint64_t address) {
  for (auto& variable : instance.variables)
    if (address >= variable.address && address < variable.address + variable.before.size) return &variable;
  return nullptr;
}

Status check_arguments(const CapturedInstance& instance, const ScannedKernel& kernel) {
  for (size_t at = 0; at + kWord <= instance.arguments.size(); ++at)
    if (auto* variable = variable_at(instance, word_at(instance.arguments, at)))
      return refused("kernel " + kernel.name + " was given the address of the module variable " + variable->key +
                     " as an argument; a MEP cannot reproduce that address yet");
  return done();
}

/// Limits found by looking at one instance's arguments: pointers to memory that was not captured.
void note_strange_pointers(const CapturedInstance& instance, const ScannedKernel& kernel,
                           std::set<std::string>& limits) {
  for (size_t i = 0; i < kernel.parameters.size() && i < instance.parameters.size(); ++i) {
    auto& parameter = kernel.parameters[i];
    if (parameter.pointee.empty() || instance.parameters[i].size != kWord) continue;
    uint64_t value = word_at(instance.arguments, instance.parameters[i].offset);
    bool known = value == 0;
    for (auto& region : instance.regions)
      known |= value >= region.address && value <= region.address + region.before.size;
    if (!known)
      limits.insert("Argument " + parameter.name +
                    " points to memory that was not the device's and was not captured; the kernel must not read it.");
  }
}

/// Element types of all regions: from the parameters, and from there down through buffers of pointers.
std::vector<std::string> element_types(const CapturedInstance& instance, const ScannedKernel& kernel,
                                       const ModuleFacts& facts) {
  std::vector<std::string> types(instance.regions.size());
  for (size_t i = 0; i < types.size(); ++i) {
    auto& region = instance.regions[i];
    auto [argument, offset] = argument_of(region.reached_from);
    if (argument >= 0 && size_t(argument) < kernel.parameters.size() && offset == 0) {
      types[i] = kernel.parameters[argument].pointee;
    } else if (uint64_t parent = parent_of(region.reached_from)) {
      for (size_t j = 0; j < i; ++j)
        if (instance.regions[j].address == parent) types[i] = pointed_to(types[j]);
    }
  }
  for (auto& type : types) type = element_of(type, facts);
  return types;
}

/// How a file-scope variable is named in the text of main: its key without what only the compiler adds.
std::string spelling_of(std::string key) {
  for (const char* mark : {"(anonymous namespace)::", "(anonymous)::"})
    for (size_t at; (at = key.find(mark)) != std::string::npos;) key.erase(at, std::strlen(mark));
  return key;
}

class Taker {
 public:
  Taker(const Capture& capture, const ScannedKernel& kernel, const ModuleFacts& facts,
        const std::filesystem::path& folder)
      : capture_(capture), kernel_(kernel), facts_(facts), folder_(folder) {}

  Result<MepInstance> take(const CapturedInstance& from) {
    KERNELIFT_TRY(check_arguments(from, kernel_));
    note_strange_pointers(from, kernel_, limits);
    MepInstance instance;
    instance.id = from.id, instance.geometry = from.geometry;
    instance.arguments = from.arguments, instance.parameters = from.parameters;
    instance.microseconds = from.microseconds, instance.weight = from.weight, instance.held_out = from.held_out;
    auto elements = element_types(from, kernel_, facts_);
    for (size_t i = 0; i < from.regions.size(); ++i) {
      auto& region = from.regions[i];
      MepRegion taken;
      taken.address = region.address, taken.size = region.before.size, taken.kind = region.kind;
      taken.reached_from = region.reached_from;
      taken.parameter = argument_of(region.reached_from).first;
      taken.element = elements[i];
      KERNELIFT_TRY(store(region.before, region.after, taken.before, taken.after, &from, region.address));
      instance.regions.push_back(std::move(taken));
    }
    for (auto& variable : from.variables) {
      auto known = facts_.variables.find(variable.key);
      if (known == facts_.variables.end()) continue;  // Of the module, but not of this kernel's text.
      MepVariable taken;
      taken.name = known->second.mangled, taken.key = variable.key, taken.spelling = spelling_of(variable.key);
      taken.element = known->second.element, taken.constant = variable.constant, taken.size = variable.before.size;
      if (taken.spelling.find('(') != std::string::npos) {
        limits.insert("Variable " + variable.key +
                      " is local to a function, so its recorded value cannot be set from outside; it starts with its "
                      "initial value.");
        continue;
      }
      KERNELIFT_TRY(store(variable.before, variable.after, taken.before, taken.after, nullptr, 0));
      instance.variables.push_back(std::move(taken));
    }
    return instance;
  }
  std::set<std::string> limits;

 private:
  Status store(const Image& before, const Image& after, std::string& before_file, std::string& after_file,
               const CapturedInstance* scanned, uint64_t address) {
    {
      KERNELIFT_ASSIGN(auto bytes, capture_.load(before));
      if (scanned) note_variable_addresses(*scanned, bytes, address);
      KERNELIFT_ASSIGN(before_file, Mep::store(folder_, bytes));
    }
    after_file = before_file;
    if (after == before) return done();
    KERNELIFT_ASSIGN(auto bytes, capture_.load(after));
    KERNELIFT_ASSIGN(after_file, Mep::store(folder_, bytes));
    return done();
  }

  void note_variable_addresses(const CapturedInstance& instance, std::span<const std::byte> bytes, uint64_t address) {
    if (instance.variables.empty()) return;
    uint64_t lowest = ~uint64_t(0), highest = 0;
    for (auto& variable : instance.variables) {
      lowest = std::min(lowest, variable.address);
      highest = std::max(highest, variable.address + variable.before.size);
    }
    for (size_t at = 0; at + kWord <= bytes.size(); at += kWord) {
      uint64_t value = word_at(bytes, at);
      if (value - lowest >= highest - lowest) continue;
      auto* variable = variable_at(instance, value);
      if (!variable) continue;
      char place[64];
      std::snprintf(place, sizeof place, "0x%llx +%zu", static_cast<unsigned long long>(address), at);
      limits.insert("Memory at " + std::string(place) + " seems to hold the address of module variable " +
                    variable->key + ", which is another one in this program.");
      return;
    }
  }

  const Capture& capture_;
  const ScannedKernel& kernel_;
  const ModuleFacts& facts_;
  std::filesystem::path folder_;
};

}  // namespace

std::string element_of(const std::string& pointee, const ModuleFacts& facts) {
  if (pointee.empty()) return "byte";
  if (!pointed_to(pointee).empty()) return "pointer";
  std::string name = pointee;
  for (const char* word : {"const ", "volatile ", "struct ", "class "})
    if (name.starts_with(word)) name.erase(0, std::strlen(word));
  if (ElementType::parse(name).kind != ElementType::Kind::Bytes) return name;
  auto structure = facts.structs.find(name);
  return structure == facts.structs.end() ? "byte" : structure->second;
}

Result<std::vector<const CapturedInstance*>> instances_of(const Capture& capture, const ScannedKernel& kernel) {
  std::vector<const CapturedInstance*> same_key, same_unit;
  std::set<std::string> others;
  for (auto& instance : capture.instances()) {
    if (instance.kernel != kernel.key) {
      others.insert(instance.kernel);
      continue;
    }
    same_key.push_back(&instance);
    if (instance.unit == kernel.tu) same_unit.push_back(&instance);
  }
  if (!same_unit.empty()) return same_unit;
  bool other_units =
      std::any_of(same_key.begin(), same_key.end(), [](auto* one) { return one->unit.find('/') != std::string::npos; });
  // A module linked from several units has no file of its own; there the key must do.
  if (!same_key.empty() && !other_units) return same_key;
  std::string message = "the capture holds no launch of " + kernel.name;
  if (other_units) message += " from " + kernel.tu + " (only of its namesake in " + same_key.front()->unit + ")";
  else if (!others.empty()) {
    message += "; it holds:";
    for (auto& other : others) message += "\n  " + other;
  }
  return answer_is_no(message + "\nrecord a run that launches it with kernelift record, or use --inputs synth");
}

Result<MepInputs> take_inputs(const Capture& capture, const std::vector<const CapturedInstance*>& instances,
                              const ScannedKernel& kernel, const ModuleFacts& facts,
                              const std::filesystem::path& folder) {
  MepInputs inputs;
  Taker taker(capture, kernel, facts, folder);
  std::optional<Error> trouble;
  for (auto* instance : instances) {
    auto taken = taker.take(*instance);
    if (taken.ok()) {
      inputs.instances.push_back(std::move(*taken));
      continue;
    }
    if (taken.error().exit == Exit::Refused) return std::move(taken).error();
    // One damaged instance does not cost the others.
    inputs.limits.push_back("Instance " + instance->id + " is left out: " + taken.error().message + ".");
    trouble = std::move(taken).error();
  }
  if (inputs.instances.empty()) return std::move(*trouble);
  // Without a finished manifest, or with the tuning instances damaged, nothing may be held out of everything.
  bool any_tuned =
      std::any_of(inputs.instances.begin(), inputs.instances.end(), [](auto& one) { return !one.held_out; });
  if (!any_tuned) inputs.instances.front().held_out = false, inputs.instances.front().weight = 1;
  inputs.limits.insert(inputs.limits.end(), taker.limits.begin(), taker.limits.end());
  return inputs;
}

}  // namespace kernelift
