// Writes and reads scan.json. The reader trusts nothing: a missing key, a wrong type or a newer version is an Error
// that names the file. find() resolves a user's word to kernels: first by id, then by exact key or name, then by
// key_matches().
#include "core/model/scan/scan_index.h"

#include <algorithm>
#include <map>

#include "core/base/artefact.h"
#include "core/base/json.h"
#include "core/model/kernel_key.h"
#include "core/model/scan/scan_json.h"

namespace kernelift {
namespace {

constexpr const char* kScanFormat = "kernelift-scan";
constexpr int kOldestScanReader = 1;  ///< Version 2 added the checksum, which version 1 ignores.
constexpr int kFirstScanWithChecksum = 2;
constexpr const char* kScanAgain = "run kernelift scan again";

using Words = std::vector<std::string>;

ScannedRecord record_from(const Json& from) {
  ScannedRecord record{from.at("name"), from.at("size"), from.at("element"), {}, from.at("open")};
  for (auto& one : from.at("pointers")) record.pointers.push_back({one.at(0), one.at(1)});
  for (auto& one : record.pointers)
    if (uint64_t(one.offset) + sizeof(uint64_t) > record.size)
      malformed("a pointer of " + record.name + " lies outside it");
  return record;
}

ScannedKernel kernel_from(const Json& from) {
  ScannedKernel kernel;
  kernel.id = from.at("id"), kernel.key = from.at("key"), kernel.name = from.at("name");
  kernel.mangled = from.at("mangled"), kernel.tu = from.at("tu");
  kernel.definition = range_from_json(from.at("definition"));
  for (auto& one : from.at("parameters")) kernel.parameters.push_back(scanned_parameter_from_json(one));
  for (auto& one : from.value("records", Json::array())) kernel.records.push_back(record_from(one));
  for (auto& one : from.value("variables", Json::array())) kernel.variables.push_back({one.at("key"), one.at("type")});
  kernel.is_template = from.at("is_template"), kernel.through_macro = from.at("through_macro");
  kernel.max_threads = from.at("max_threads"), kernel.min_blocks = from.at("min_blocks");
  kernel.uses = from.at("uses").get<Words>();
  return kernel;
}

ScannedUnit unit_from(const Json& from) {
  return {from.at("file"), from.at("folder"), from.at("command").get<Words>(), from.at("problems").get<Words>(),
          from.at("headers")};
}

}  // namespace

bool ScannedParameter::is_integer() const {
  return !scalar.empty() && scalar.find("float") == scalar.npos && scalar.find("double") == scalar.npos;
}

bool ScannedParameter::is_index() const {
  const bool narrow =
      scalar.find("bool") != scalar.npos || scalar.find("char") != scalar.npos || scalar.find("short") != scalar.npos;
  return is_integer() && !narrow;
}

// Outside the unnamed namespace, so that list_to_json() finds them by their arguments.
static Json to_json(const ScannedRecord& record) {
  Json pointers = Json::array();
  for (auto& one : record.pointers) pointers.push_back({one.offset, one.pointee});
  return {{"name", record.name},
          {"size", record.size},
          {"element", record.element},
          {"pointers", pointers},
          {"open", record.open}};
}

static Json to_json(const ScannedVariable& variable) { return {{"key", variable.key}, {"type", variable.type}}; }

static Json to_json(const ScannedKernel& kernel) {
  return {{"id", kernel.id},
          {"key", kernel.key},
          {"name", kernel.name},
          {"mangled", kernel.mangled},
          {"tu", kernel.tu},
          {"definition", to_json(kernel.definition)},
          {"parameters", list_to_json(kernel.parameters)},
          {"records", list_to_json(kernel.records)},
          {"variables", list_to_json(kernel.variables)},
          {"is_template", kernel.is_template},
          {"through_macro", kernel.through_macro},
          {"max_threads", kernel.max_threads},
          {"min_blocks", kernel.min_blocks},
          {"uses", kernel.uses}};
}

static Json to_json(const KernelPointer& pointer) {
  return {{"kernels", pointer.kernels}, {"range", to_json(pointer.range)}};
}

static Json to_json(const HostCall& call) {
  Json arguments = Json::array();
  for (auto& argument : call.arguments) {
    Json& bases = arguments.emplace_back(Json::array());
    for (auto& base : argument) bases.push_back({{"text", base.text}, {"where", base.where}});
  }
  return {{"callee", call.callee}, {"caller", call.caller}, {"arguments", std::move(arguments)}};
}

static HostCall call_from(const Json& json) {
  HostCall call{json.at("callee"), json.at("caller"), {}};
  for (auto& argument : json.at("arguments")) {
    auto& bases = call.arguments.emplace_back();
    for (auto& base : argument) bases.insert({base.at("text"), base.at("where").get<std::map<std::string, bool>>()});
  }
  return call;
}

static Json to_json(const ScannedUnit& unit) {
  return {{"file", unit.file},
          {"folder", unit.folder},
          {"command", unit.command},
          {"problems", unit.problems},
          {"headers", unit.headers}};
}

Json to_json(const ScanIndex& index) {
  Json document = artefact(kScanFormat, kScanVersion, kOldestScanReader);
  document["root"] = index.root;
  document["language"] = index.language, document["database"] = index.database;
  document["units"] = list_to_json(index.units);
  document["kernels"] = list_to_json(index.kernels);
  document["launches"] = list_to_json(index.launches);
  document["pointers"] = list_to_json(index.pointers);
  document["settings"] = list_to_json(index.settings);
  document["knobs"] = list_to_json(index.knobs);
  if (!index.calls.empty()) document["calls"] = list_to_json(index.calls);
  return document;
}

Result<ScanIndex> scan_index_from_json(const Json& document, const std::string& where) {
  KERNELIFT_TRY(check_artefact(document, kScanFormat, kScanVersion, where));
  return reading(where, [&] {
    ScanIndex index;
    index.root = document.at("root"), index.language = document.at("language"),
    index.database = document.value("database", "");
    for (auto& one : document.at("units")) index.units.push_back(unit_from(one));
    for (auto& one : document.at("kernels")) index.kernels.push_back(kernel_from(one));
    for (auto& one : document.at("launches")) index.launches.push_back(launch_from_json(one));
    for (auto& [name, mentions] : {std::pair("pointers", &index.pointers), std::pair("settings", &index.settings)})
      for (auto& one : document.value(name, Json::array()))
        mentions->push_back({one.at("kernels").get<Words>(), range_from_json(one.at("range"))});
    for (auto& one : document.at("knobs")) index.knobs.push_back(knob_from_json(one));
    check_blocks(index.launches, index.knobs);
    for (auto& one : document.value("calls", Json::array())) index.calls.push_back(call_from(one));
    return index;
  });
}

bool LaunchSite::uses(const std::string& name) const {
  auto in = [&](const std::optional<Expression>& size) { return size && size->uses(name); };
  return std::ranges::any_of(grid, in) || std::ranges::any_of(block, in) || in(shared);
}

bool LaunchSite::is_real_argument(size_t index) const {
  auto type = argument_types.find(index);
  return type != argument_types.end() && (type->second.ends_with("float") || type->second.ends_with("double") ||
                                          type->second == "_Float16" || type->second == "__float128");
}

Result<ScanIndex> ScanIndex::read(const std::filesystem::path& file) {
  KERNELIFT_ASSIGN(Json document, read_artefact(file, kScanFormat, kScanVersion, kFirstScanWithChecksum, kScanAgain));
  return scan_index_from_json(document, file.string());
}

Status ScanIndex::write(const std::filesystem::path& file) const {
  return write_json(file, with_checksum(to_json(*this)));
}

const ScannedRecord* ScannedKernel::record(const std::string& wanted) const {
  auto found = std::ranges::find(records, wanted, &ScannedRecord::name);
  return found == records.end() ? nullptr : &*found;
}

std::vector<const ScannedKernel*> ScanIndex::find(const std::string& word) const {
  std::vector<const ScannedKernel*> exact, partial;
  for (auto& kernel : kernels) {
    if (kernel.id == word) return {&kernel};
    if (kernel.key == word || kernel.name == word || kernel.mangled == word) exact.push_back(&kernel);
    else if (key_matches(kernel.key, word) || key_matches(kernel.name, word)) partial.push_back(&kernel);
  }
  return exact.empty() ? partial : exact;
}

std::vector<const ScannedKernel*> ScanIndex::namesakes(const std::string& key) const {
  std::map<std::pair<std::string, uint64_t>, const ScannedKernel*> places;
  for (auto& kernel : kernels)
    if (kernel.key == key) places.emplace(std::pair(kernel.definition.file, kernel.definition.begin), &kernel);
  std::vector<const ScannedKernel*> found;
  for (auto& [_, kernel] : places) found.push_back(kernel);
  return found;
}

}  // namespace kernelift
