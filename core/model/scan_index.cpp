// scan.json and back. Reading trusts nothing: a missing key, a wrong type or a newer version is an Error that names the
// file. find() is how a user's word becomes a kernel: an id first, then an exact key or name, then whatever
// key_matches() accepts.
#include "core/model/scan_index.h"

#include "core/base/json.h"
#include "core/model/kernel_key.h"

namespace kernelift {
namespace {

constexpr const char* kFormat = "kernelift-scan";
constexpr int kOldestReader = 1;

using Words = std::vector<std::string>;

Json to_json(const SourceRange& range) {
  return {{"file", range.file},
          {"begin", range.begin},
          {"end", range.end},
          {"line", range.line},
          {"end_line", range.end_line}};
}
SourceRange range_from(const Json& from) {
  return {from.at("file"), from.at("begin"), from.at("end"), from.at("line"), from.at("end_line")};
}

Json to_json(const ScannedKernel& kernel) {
  Json parameters = Json::array();
  for (auto& one : kernel.parameters)
    parameters.push_back({{"name", one.name},
                          {"type", one.type},
                          {"pointee", one.pointee},
                          {"pointee_const", one.pointee_const},
                          {"scalar", one.scalar}});
  return {{"id", kernel.id},
          {"key", kernel.key},
          {"name", kernel.name},
          {"mangled", kernel.mangled},
          {"tu", kernel.tu},
          {"definition", to_json(kernel.definition)},
          {"parameters", parameters},
          {"is_template", kernel.is_template},
          {"through_macro", kernel.through_macro},
          {"max_threads", kernel.max_threads},
          {"min_blocks", kernel.min_blocks},
          {"uses", kernel.uses}};
}
ScannedKernel kernel_from(const Json& from) {
  ScannedKernel kernel;
  kernel.id = from.at("id"), kernel.key = from.at("key"), kernel.name = from.at("name");
  kernel.mangled = from.at("mangled"), kernel.tu = from.at("tu");
  kernel.definition = range_from(from.at("definition"));
  for (auto& one : from.at("parameters"))
    kernel.parameters.push_back(
        {one.at("name"), one.at("type"), one.at("pointee"), one.at("pointee_const"), one.at("scalar")});
  kernel.is_template = from.at("is_template"), kernel.through_macro = from.at("through_macro");
  kernel.max_threads = from.at("max_threads"), kernel.min_blocks = from.at("min_blocks");
  kernel.uses = from.at("uses").get<Words>();
  return kernel;
}

Json to_json(const LaunchSite& site) {
  return {{"kernels", site.kernels},
          {"range", to_json(site.range)},
          {"grid_range", to_json(site.grid_range)},
          {"block_range", to_json(site.block_range)},
          {"shared_range", to_json(site.shared_range)},
          {"enclosing", site.enclosing},
          {"grid", site.grid},
          {"block", site.block},
          {"shared", site.shared},
          {"argument_text", site.argument_text},
          {"through_macro", site.through_macro}};
}
LaunchSite launch_from(const Json& from) {
  LaunchSite site;
  site.kernels = from.at("kernels").get<Words>();
  site.range = range_from(from.at("range")), site.grid_range = range_from(from.at("grid_range"));
  site.block_range = range_from(from.at("block_range")), site.shared_range = range_from(from.at("shared_range"));
  site.enclosing = from.at("enclosing"), site.shared = from.at("shared");
  for (int axis = 0; axis < 3; ++axis)
    site.grid[axis] = from.at("grid").at(axis), site.block[axis] = from.at("block").at(axis);
  site.argument_text = from.at("argument_text").get<Words>();
  site.through_macro = from.at("through_macro");
  return site;
}

Json to_json(const Knob& knob) {
  return {{"name", knob.name},         {"value", knob.value},         {"value_range", to_json(knob.value_range)},
          {"is_macro", knob.is_macro}, {"in_kernel", knob.in_kernel}, {"in_geometry", knob.in_geometry},
          {"kernels", knob.kernels}};
}
Knob knob_from(const Json& from) {
  return {from.at("name"),      from.at("value"),       range_from(from.at("value_range")), from.at("is_macro"),
          from.at("in_kernel"), from.at("in_geometry"), from.at("kernels").get<Words>()};
}

Json to_json(const ScannedUnit& unit) {
  return {{"file", unit.file},
          {"folder", unit.folder},
          {"command", unit.command},
          {"problems", unit.problems},
          {"headers", unit.headers}};
}
ScannedUnit unit_from(const Json& from) {
  return {from.at("file"), from.at("folder"), from.at("command").get<Words>(), from.at("problems").get<Words>(),
          from.at("headers")};
}

template <class T>
Json list_of(const std::vector<T>& all) {
  Json list = Json::array();
  for (auto& one : all) list.push_back(to_json(one));
  return list;
}

}  // namespace

Json to_json(const ScanIndex& index) {
  Json document = artefact(kFormat, kScanVersion, kOldestReader);
  document["root"] = index.root;
  document["language"] = index.language;
  document["units"] = list_of(index.units);
  document["kernels"] = list_of(index.kernels);
  document["launches"] = list_of(index.launches);
  document["knobs"] = list_of(index.knobs);
  return document;
}

Result<ScanIndex> scan_index_from_json(const Json& document, const std::string& where) {
  KERNELIFT_TRY(check_artefact(document, kFormat, kScanVersion, where));
  return reading(where, [&] {
    ScanIndex index;
    index.root = document.at("root"), index.language = document.at("language");
    for (auto& one : document.at("units")) index.units.push_back(unit_from(one));
    for (auto& one : document.at("kernels")) index.kernels.push_back(kernel_from(one));
    for (auto& one : document.at("launches")) index.launches.push_back(launch_from(one));
    for (auto& one : document.at("knobs")) index.knobs.push_back(knob_from(one));
    return index;
  });
}

Result<ScanIndex> ScanIndex::read(const std::filesystem::path& file) {
  KERNELIFT_ASSIGN(Json document, read_json(file));
  return scan_index_from_json(document, file.string());
}

Status ScanIndex::write(const std::filesystem::path& file) const { return write_json(file, to_json(*this)); }

std::vector<const ScannedKernel*> ScanIndex::find(const std::string& word) const {
  std::vector<const ScannedKernel*> exact, partial;
  for (auto& kernel : kernels) {
    if (kernel.id == word) return {&kernel};
    if (kernel.key == word || kernel.name == word || kernel.mangled == word) exact.push_back(&kernel);
    else if (key_matches(kernel.key, word) || key_matches(kernel.name, word)) partial.push_back(&kernel);
  }
  return exact.empty() ? partial : exact;
}

}  // namespace kernelift
