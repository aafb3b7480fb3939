// mep.json and data/ of a minimal executable program; see mep.h and docs/formats.md. Lines of kernel.cu that came from
// consecutive lines of one file are written as one run, because a slice of a thousand lines is a few dozen runs. File
// names that are read from mep.json are checked, because a MEP may come from an untrusted source.
#include "core/model/mep.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "core/base/artefact.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/parallel.h"
#include "core/model/element.h"
#include "core/model/kernel_key.h"
#include "core/model/scan/scan_json.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr const char* kMepFormat = "kernelift-mep";
constexpr int kOldestMepReader = 1;  ///< Version 2 added the checksum, which version 1 ignores.
constexpr int kFirstMepWithChecksum = 2;
constexpr const char* kExtractAgain = "extract the MEP again";
constexpr std::string_view kDataSuffix = ".bin";

/// A name such as "3f…e.bin", which cannot lead out of data/.
std::string data_name(const Json& from) {
  auto text = from.get<std::string>();
  bool good = text.ends_with(kDataSuffix) && Hash::from_hex(text.substr(0, text.size() - kDataSuffix.size()));
  if (!good) malformed("'" + text + "' is not the name of a data file (32 hex digits and .bin)");
  return text;
}

/// Empty means that there is no expected image, as for synthesised inputs.
std::string optional_data_name(const Json& from) {
  return from.get<std::string>().empty() ? std::string() : data_name(from);
}

/// Writes gigabytes of images on all cores, with holes for pages of zeros. Files are not fsynced: a file that a crash
/// damages does not match the hash in its name, and the MEP is extracted again.
Status write_sparsely(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  constexpr size_t kPiece = 4 << 20, kPage = 4096;
  auto zero = [&](size_t begin, size_t size) {
    return bytes[begin] == std::byte{0} && std::memcmp(&bytes[begin], &bytes[begin] + 1, size - 1) == 0;
  };
  if (ftruncate(fd, static_cast<off_t>(bytes.size())) != 0) return file_error("write", path);
  return in_pieces(bytes.size(), kPiece, [&](size_t at, size_t end) -> Status {
    while (at < end) {
      if (size_t size = std::min(kPage, end - at); zero(at, size)) {
        at += size;
        continue;
      }
      size_t stop = at;
      while (stop < end && !zero(stop, std::min(kPage, end - stop))) stop = std::min(stop + kPage, end);
      while (at < stop) {
        ssize_t put = pwrite(fd, &bytes[at], stop - at, static_cast<off_t>(at));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return file_error("write", path);
        at += static_cast<size_t>(put);
      }
    }
    return done();
  });
}

MepSymbolSlot symbol_from_json(const Json& from, const MepInstance& of) {
  MepSymbolSlot slot;
  slot.region = from.value("region", -1), slot.variable = from.value("variable", -1);
  slot.offset = from.at("offset").get<uint64_t>(), slot.addend = from.at("addend").get<uint64_t>();
  slot.key = from.at("key"), slot.spelling = from.at("spelling"), slot.name = from.at("name");
  bool sound = slot.region < int(of.regions.size()) && slot.variable < int(of.variables.size()) &&
               (slot.region < 0 || slot.variable < 0);
  uint64_t size = !sound               ? 0
                  : slot.region >= 0   ? of.regions[size_t(slot.region)].size
                  : slot.variable >= 0 ? of.variables[size_t(slot.variable)].size
                                       : of.arguments.size();
  if (size < sizeof(uint64_t) || slot.offset > size - sizeof(uint64_t))
    malformed("the address of " + slot.key + " in instance " + of.id + " lies outside what should hold it");
  return slot;
}

MepInstance recorded_instance_from_json(const Json& from) {
  MepInstance instance;
  read_recorded_launch(from, instance);
  if (auto pointers = from.find("argument_pointers"); pointers != from.end()) {
    instance.arguments_typed = true;
    pointers->get_to(instance.argument_pointers);
    for (uint32_t offset : instance.argument_pointers)
      if (uint64_t(offset) + sizeof(uint64_t) > instance.arguments.size())
        malformed("an address of instance " + instance.id + " lies outside its arguments");
  }
  if (auto code = from.find("code"); code != from.end()) instance.code = optional_data_name(*code);
  if (auto in_vivo = from.find("in_vivo"); in_vivo != from.end())
    instance.in_vivo = {in_vivo->value("cache", ""),   in_vivo->value("how", ""),
                        in_vivo->value("spread", 0.0), in_vivo->value("launches", uint64_t(0)),
                        in_vivo->value("low", 0.0),    in_vivo->value("high", 0.0),
                        in_vivo->value("own", 0.0),    in_vivo->value("why", "")};
  for (auto& entry : from.at("regions")) {
    MepRegion region;
    region.address = entry.at("address").get<uint64_t>();
    region.size = entry.at("size").get<uint64_t>();
    if (region.size > ~region.address) malformed("memory of instance " + instance.id + " ends behind the last address");
    auto kind = memory_kind_from_name(entry.at("kind"));
    if (!kind.ok()) malformed(kind.error().message);
    region.kind = *kind;
    region.before = data_name(entry.at("before"));
    region.after = optional_data_name(entry.at("after"));
    region.reached_from = Origin::parse(entry.at("reached_from").get<std::string>());
    region.parameter = entry.at("parameter").get<int>();
    if (region.parameter < -1) malformed("a parameter has no number " + std::to_string(region.parameter));
    region.element = entry.at("element");
    region.rewritten = entry.value("rewritten", false);
    region.part_of = entry.value("part_of", uint64_t(0));
    if (auto pointers = entry.find("pointers"); pointers != entry.end()) {
      region.pointer_stride = pointers->at("stride").get<uint64_t>();
      region.pointer_offsets = pointers->at("offsets").get<std::vector<uint32_t>>();
      for (uint32_t offset : region.pointer_offsets)
        if (uint64_t(offset) + sizeof(uint64_t) > region.pointer_stride)
          malformed("a pointer of a region of instance " + instance.id + " lies outside its element");
    }
    instance.regions.push_back(std::move(region));
  }
  for (auto& entry : from.at("variables")) {
    MepVariable variable;
    variable.name = entry.at("name");
    variable.key = entry.at("key");
    variable.spelling = entry.at("spelling");
    variable.element = entry.at("element");
    variable.constant = entry.at("constant");
    variable.size = entry.at("size").get<uint64_t>();
    variable.before = data_name(entry.at("before"));
    variable.after = optional_data_name(entry.at("after"));
    variable.recorded_name = entry.value("recorded_name", "");
    instance.variables.push_back(std::move(variable));
  }
  if (auto symbols = from.find("symbols"); symbols != from.end())
    for (auto& entry : *symbols) instance.symbols.push_back(symbol_from_json(entry, instance));
  return instance;
}

/// Runs of [file, first line, count]; a run of lines that the writer added has an empty file and line 0.
Json origins_to_json(const std::vector<LineOrigin>& origins) {
  Json runs = Json::array();
  for (size_t begin = 0; begin < origins.size();) {
    const LineOrigin& first = origins[begin];
    size_t end = begin + 1;
    while (end < origins.size() && origins[end].file == first.file &&
           origins[end].line == (first.line == 0 ? 0 : first.line + (end - begin)))
      ++end;
    runs.push_back({first.file, first.line, end - begin});
    begin = end;
  }
  return runs;
}

std::vector<LineOrigin> origins_from_json(const Json& from) {
  constexpr uint32_t kMostLines = 10'000'000;  // A damaged count must not become an endless list.
  std::vector<LineOrigin> origins;
  for (auto& run : from) {
    std::string file = run.at(0);
    uint32_t line = run.at(1), count = run.at(2);
    if (count > kMostLines || origins.size() + count > kMostLines) malformed("more lines than a source file can have");
    for (uint32_t i = 0; i < count; ++i) origins.push_back({file, line == 0 ? 0 : line + i});
  }
  return origins;
}

/// Names and labels are one line each: tables are made of them.
void check_one_line(const Json& value) {
  if (value.is_string())
    if (auto& text = value.get_ref<const std::string&>();
        std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }))
      malformed("'" + text + "' is no name: it holds control characters");
  if (value.is_structured())
    for (auto& item : value) check_one_line(item);
}

Mep mep_from_json(const Json& from) {
  Mep mep;
  check_one_line(from.at("instances"));
  for (auto* name : {"key", "name", "mangled", "id"}) check_one_line(from.at("kernel").at(name));
  mep.language = from.at("language");
  if (mep.language != "cuda" && mep.language != "hip") malformed("language is '" + mep.language + "', not cuda or hip");
  const Json& kernel = from.at("kernel");
  mep.kernel_key = kernel.at("key");
  mep.kernel_name = kernel.at("name");
  mep.kernel_mangled = kernel.at("mangled");
  mep.kernel_id = kernel.at("id");
  for (auto& entry : kernel.at("parameters")) mep.parameters.push_back(scanned_parameter_from_json(entry));
  const Json& slice = from.at("slice");
  mep.slice_mode = slice.at("mode");
  mep.proven = slice.at("proven");
  mep.proof_note = slice.at("proof_note");
  mep.unit = slice.at("unit");
  mep.compile_flags = slice.at("compile_flags").get<std::vector<std::string>>();
  mep.headers = slice.at("headers"), mep.architecture = slice.value("architecture", "");
  if (auto command = slice.find("compile_command"); command != slice.end())
    mep.compile_command = command->get<std::vector<std::string>>();
  mep.compile_folder = slice.value("compile_folder", "");
  mep.origins = origins_from_json(slice.at("origins"));
  if (auto hashes = slice.find("origin_hashes"); hashes != slice.end())
    mep.origin_hashes = hashes->get<std::map<std::string, std::string>>();
  if (auto functions = slice.find("functions"); functions != slice.end())
    for (auto& entry : *functions)
      mep.functions.push_back(
          {entry.at("name"), entry.at("file"), entry.at("line"), entry.at("end_line"), entry.at("on_host")});
  if (auto linked = slice.find("linked"); linked != slice.end()) mep.linked = linked->get<std::vector<std::string>>();
  for (auto& entry : from.at("launches")) mep.launches.push_back(launch_from_json(entry));
  if (auto siblings = from.find("sibling_launches"); siblings != from.end())
    for (auto& entry : *siblings) mep.sibling_launches.push_back(launch_from_json(entry));
  mep.unseen_launches = from.value("unseen_launches", "");
  for (auto& entry : from.at("knobs")) mep.knobs.push_back(knob_from_json(entry));
  if (auto constants = from.find("constants"); constants != from.end()) mep.constants = constants->get<Bindings>();
  check_blocks(mep.launches, mep.knobs);
  mep.captured_on = from.at("captured_on");
  mep.inputs = from.at("inputs");
  mep.app_root = from.at("app_root");
  mep.tolerance = {from.at("tolerance").at("relative"), from.at("tolerance").at("absolute")};
  for (auto& entry : from.at("instances")) mep.instances.push_back(recorded_instance_from_json(entry));
  return mep;
}

/// Compares the sizes in mep.json with those of the data files. A missing file is reported when it is loaded.
Status check_sizes(const Mep& mep, const fs::path& folder) {
  auto holds = [&](const std::string& file, uint64_t size, const std::string& what) -> Status {
    std::error_code code;
    uint64_t there = fs::file_size(folder / "data" / file, code);
    if (file.empty() || code || there == size) return done();
    return environment_error((folder / "mep.json").string() + " is damaged: it says that " + what + " is " +
                             std::to_string(size) + " bytes long, its data file " + file + " is " +
                             std::to_string(there) + "; extract the MEP again");
  };
  for (auto& instance : mep.instances) {
    for (auto& region : instance.regions)
      for (auto* file : {&region.before, &region.after})
        KERNELIFT_TRY(holds(*file, region.size,
                            "memory reached from " + region.reached_from.text() + " of instance " + instance.id));
    for (auto& variable : instance.variables)
      for (auto* file : {&variable.before, &variable.after})
        KERNELIFT_TRY(holds(*file, variable.size, "variable " + variable.key + " of instance " + instance.id));
  }
  return done();
}

}  // namespace

// Outside the unnamed namespace, so that list_to_json() finds them by their arguments.
static Json to_json(const MepInstance& instance) {
  Json regions = Json::array(), variables = Json::array();
  for (auto& region : instance.regions) {
    regions.push_back({{"address", region.address},
                       {"size", region.size},
                       {"kind", name(region.kind)},
                       {"before", region.before},
                       {"after", region.after},
                       {"reached_from", region.reached_from.text()},
                       {"parameter", region.parameter},
                       {"element", region.element}});
    if (region.rewritten) regions.back()["rewritten"] = true;
    if (region.part_of) regions.back()["part_of"] = region.part_of;
    if (region.pointer_stride)
      regions.back()["pointers"] = {{"stride", region.pointer_stride}, {"offsets", region.pointer_offsets}};
  }
  for (auto& variable : instance.variables) {
    variables.push_back({{"name", variable.name},
                         {"key", variable.key},
                         {"spelling", variable.spelling},
                         {"element", variable.element},
                         {"constant", variable.constant},
                         {"size", variable.size},
                         {"before", variable.before},
                         {"after", variable.after}});
    if (!variable.recorded_name.empty()) variables.back()["recorded_name"] = variable.recorded_name;
  }
  Json json = to_json(static_cast<const RecordedLaunch&>(instance));
  json["regions"] = std::move(regions), json["variables"] = std::move(variables);
  if (instance.arguments_typed) json["argument_pointers"] = instance.argument_pointers;
  if (!instance.code.empty()) json["code"] = instance.code;
  if (auto& vivo = instance.in_vivo; !vivo.cache.empty() || !vivo.how.empty())
    json["in_vivo"] = {{"cache", vivo.cache}, {"how", vivo.how},   {"spread", vivo.spread}, {"launches", vivo.launches},
                       {"low", vivo.low},     {"high", vivo.high}, {"own", vivo.own},       {"why", vivo.why}};
  for (auto& slot : instance.symbols) {
    Json entry = {{"offset", slot.offset},
                  {"addend", slot.addend},
                  {"key", slot.key},
                  {"spelling", slot.spelling},
                  {"name", slot.name}};
    if (slot.region >= 0) entry["region"] = slot.region;
    if (slot.variable >= 0) entry["variable"] = slot.variable;
    json["symbols"].push_back(std::move(entry));
  }
  return json;
}

Bindings Mep::knob_values() const {
  Bindings values;
  for (auto& knob : knobs) values[knob.name] = knob.value;
  return values;
}

Bindings Mep::named_values() const {
  Bindings values = knob_values();
  values.insert(constants.begin(), constants.end());
  return values;
}

namespace {

std::optional<int64_t> integer_at(const std::vector<std::byte>& arguments, uint64_t offset, uint64_t bytes,
                                  bool is_unsigned) {
  if (bytes == 0 || bytes > sizeof(int64_t) || offset + bytes > arguments.size()) return std::nullopt;
  uint64_t bits = 0;
  std::memcpy(&bits, &arguments[offset], bytes);
  if (is_unsigned) return static_cast<int64_t>(bits);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes);
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace

std::optional<int64_t> Mep::integer_argument(const MepInstance& instance, size_t parameter) const {
  if (parameter >= parameters.size() || parameter >= instance.parameters.size() || !parameters[parameter].is_integer())
    return std::nullopt;
  const auto [offset, bytes] = instance.parameters[parameter];
  return integer_at(instance.arguments, offset, bytes, parameters[parameter].is_unsigned());
}

std::optional<int64_t> Mep::integer_member(const MepInstance& instance, size_t parameter, uint64_t offset,
                                           const std::string& type) const {
  if (parameter >= instance.parameters.size()) return std::nullopt;
  const ElementType element = ElementType::parse(type);
  using Kind = ElementType::Kind;
  if (element.kind != Kind::Signed && element.kind != Kind::Unsigned && element.kind != Kind::Bool) return std::nullopt;
  const auto [begin, bytes] = instance.parameters[parameter];
  if (offset + element.width > bytes) return std::nullopt;
  return integer_at(instance.arguments, begin + offset, element.width, element.kind != Kind::Signed);
}

std::vector<const LaunchSite*> Mep::all_launches() const {
  std::vector<const LaunchSite*> all;
  for (auto* sites : {&launches, &sibling_launches})
    for (auto& site : *sites) all.push_back(&site);
  return all;
}

std::string Mep::place(const std::string& text) const {
  // A place that is passed on names no folder outside the application.
  auto within = [&](const std::string& file) {
    return fs::path(file).is_absolute() ? fs::path(file).lexically_proximate(app_root).string() : file;
  };
  const std::string name = unqualified_name(base_name(kernel_key));
  size_t at = 0, since_global = 3;  // Return type, attributes and name may stand on lines of their own.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); ++at) {
    since_global = line.find("__global__") == line.npos ? since_global + 1 : 0;
    if (since_global < 3 && line.find(name + "(") != line.npos && at < origins.size() && !origins[at].file.empty())
      return within(origins[at].file) + ":" + std::to_string(origins[at].line);
  }
  return within(unit);
}

std::string Mep::linked_text() const {
  if (linked.empty()) return {};
  std::string others;
  for (auto& file : linked) others += (others.empty() ? "" : ", ") + file;
  return others +
         " and the kernel's own file are compiled as one here, and only linked in the application (relocatable device "
         "code): calls between "
         "them can be inlined here and not there, so a gain may not come back";
}

Result<Mep> Mep::read(const fs::path& folder) {
  fs::path file = folder / "mep.json";
  std::error_code code;
  if (!fs::exists(file, code))
    return usage_error(folder.string() + " is not a MEP (no mep.json in it); make one with kernelift extract");
  KERNELIFT_ASSIGN(Json value, read_artefact(file, kMepFormat, kMepVersion, kFirstMepWithChecksum, kExtractAgain));
  KERNELIFT_ASSIGN(Mep mep, reading(file.string(), [&] { return mep_from_json(value); }));
  KERNELIFT_TRY(check_sizes(mep, folder));
  return mep;
}

Status Mep::write(const fs::path& folder) const {
  Json value = artefact(kMepFormat, kMepVersion, kOldestMepReader), sliced = Json::array();
  for (auto& one : functions)
    sliced.push_back({{"name", one.name},
                      {"file", one.file},
                      {"line", one.line},
                      {"end_line", one.end_line},
                      {"on_host", one.on_host}});
  value["language"] = language;
  value["kernel"] = {{"key", kernel_key},
                     {"name", kernel_name},
                     {"mangled", kernel_mangled},
                     {"id", kernel_id},
                     {"parameters", list_to_json(parameters)}};
  value["slice"] = {{"mode", slice_mode},
                    {"proven", proven},
                    {"proof_note", proof_note},
                    {"unit", unit},
                    {"compile_flags", compile_flags},
                    {"compile_command", compile_command},
                    {"compile_folder", compile_folder},
                    {"headers", headers},
                    {"architecture", architecture},
                    {"origins", origins_to_json(origins)},
                    {"origin_hashes", origin_hashes},
                    {"functions", sliced},
                    {"linked", linked}};
  value["launches"] = list_to_json(launches);
  value["sibling_launches"] = list_to_json(sibling_launches), value["unseen_launches"] = unseen_launches;
  value["knobs"] = list_to_json(knobs), value["constants"] = constants;
  value["captured_on"] = captured_on;
  value["inputs"] = inputs;
  value["app_root"] = app_root;
  value["tolerance"] = {{"relative", tolerance.relative}, {"absolute", tolerance.absolute}};
  value["instances"] = list_to_json(instances);
  return write_json(folder / "mep.json", with_checksum(value));
}

Result<std::vector<std::byte>> Mep::load(const fs::path& folder, const std::string& file) {
  fs::path path = folder / "data" / file;
  auto hash =
      file.ends_with(kDataSuffix) ? Hash::from_hex(file.substr(0, file.size() - kDataSuffix.size())) : std::nullopt;
  if (!hash) return environment_error(path.string() + ": not the name of a data file");
  auto bytes = read_bytes(path);
  if (!bytes.ok()) return environment_error(bytes.error().message + "; extract the MEP again");
  if (hash_bytes(*bytes) != *hash)
    return environment_error(path.string() + " is damaged: its " + std::to_string(bytes->size()) +
                             " bytes do not match the checksum in its name; extract the MEP again");
  return std::move(*bytes);
}

Result<std::string> Mep::store(const fs::path& folder, std::span<const std::byte> bytes) {
  std::string file = hash_bytes(bytes).hex() + std::string(kDataSuffix);
  std::error_code code;
  if (fs::exists(folder / "data" / file, code)) return file;
  fs::path path = folder / "data" / file;
  KERNELIFT_TRY(replace_file(path, [&](int fd) { return write_sparsely(fd, bytes, path); }));
  return file;
}

uint64_t MepInstance::region_bytes() const {
  uint64_t bytes = 0;
  for (auto& region : regions) bytes += region.size;
  return bytes;
}

std::vector<MepInstance::ArgumentSlot> MepInstance::argument_slots() const {
  constexpr uint32_t kWord = 8;
  std::vector<ArgumentSlot> slots;
  auto overlaps = [&](uint32_t at) {
    for (auto& slot : slots)
      if (at < slot.offset + kWord && slot.offset < at + kWord) return true;
    return false;
  };
  auto typed = [&](uint32_t at) {
    return !arguments_typed ||
           std::find(argument_pointers.begin(), argument_pointers.end(), at) != argument_pointers.end();
  };
  for (uint32_t step : {kWord, kWord / 2, uint32_t(1)})
    for (uint32_t at = 0; at + kWord <= arguments.size(); at += step) {
      uint64_t value;
      std::memcpy(&value, arguments.data() + at, kWord);
      for (size_t r = 0; r < regions.size() && !overlaps(at); ++r) {
        auto& region = regions[r];
        // A handle is a number by its type.
        if (region.kind == MemoryKind::Texture && step == kWord && value == region.address) slots.push_back({at, r});
        if (region.kind == MemoryKind::Texture || !typed(at)) continue;
        // An address that ends one region and begins another belongs to the one it begins.
        bool inside = value >= region.address && value < region.address + std::max<uint64_t>(region.size, 1);
        bool end = value == region.address + region.size;
        for (auto& other : regions) end = end && other.address != value;
        if (inside || end) slots.push_back({at, r});
      }
    }
  return slots;
}

}  // namespace kernelift
