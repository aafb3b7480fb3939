// The capture archive: JSON of instances and manifest around a chunk store; see capture.h and docs/formats.md.
//
// The order of writing makes it survive a kill: an instance's chunks are synced before its line is appended, and the
// line is synced before finish_instance() returns. So every whole line refers to chunks that are stored, a torn last
// line is an instance that never finished, and a missing manifest means only that the application did not end by
// itself. Lines and manifest carry a hash of their own text, so that a flipped bit in an address is detected and not
// replayed.
#include "core/model/capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/artefact.h"
#include "core/base/chunk_store.h"
#include "core/base/descriptor.h"
#include "core/base/file.h"
#include "core/base/parallel.h"
#include "core/model/launch/limits.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr const char* kBlobs = "blobs.klb";
constexpr const char* kJournal = "instances.jsonl";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kCaptureFormat = "kernelift-capture";
constexpr const char* kJournalFormat = "kernelift-capture-instances";
/// A line is {"hash":"<32 hex digits>","instance":<text>} where the hash is of <text>.
constexpr std::string_view kLineHead = "{\"hash\":\"", kLineMiddle = "\",\"instance\":";
constexpr size_t kHexDigits = 32;
constexpr size_t kLinePrefix = kLineHead.size() + kHexDigits + kLineMiddle.size();

/// The number of chunks of an image of `size` bytes. Written so that damaged sizes near the maximum do not overflow.
uint64_t chunks_of(uint64_t size) { return size / kChunkBytes + (size % kChunkBytes != 0); }

Json memory_to_json(const Image& image) {
  Json chunks = Json::array();
  for (auto& chunk : image.chunks) chunks.push_back(chunk.hex());
  return {{"size", image.size}, {"chunks", chunks}};
}

Image memory_from_json(const Json& from) {
  Image image;
  image.size = from.at("size").get<uint64_t>();
  for (auto& chunk : from.at("chunks")) {
    auto hash = Hash::from_hex(chunk.get<std::string>());
    if (!hash) malformed("a chunk's name is not 32 hex digits");
    image.chunks.push_back(*hash);
  }
  if (image.chunks.size() != chunks_of(image.size)) malformed("an image's chunks do not fit its size");
  return image;
}

/// `after` is written only if it differs: a kernel leaves most of the memory that it can reach unchanged.
void images_to_json(Json& into, const Image& before, const Image& after) {
  into["before"] = memory_to_json(before);
  if (after != before) into["after"] = memory_to_json(after);
}

void images_from_json(const Json& from, uint64_t address, Image& before, Image& after) {
  before = memory_from_json(from.at("before"));
  after = from.contains("after") ? memory_from_json(from["after"]) : before;
  if (after.size != before.size) malformed("the images before and after differ in size");
  if (before.size > ~address) malformed("memory ends behind the last address");
}

Json settings_to_json(const LaunchSettings& settings) {
  return {{"entry", settings.entry},
          {"cluster", {settings.cluster.x, settings.cluster.y, settings.cluster.z}},
          {"cluster_policy", settings.cluster_policy},
          {"priority", settings.priority},
          {"programmatic", settings.programmatic},
          {"carveout", settings.carveout},
          {"other", settings.other},
          {"max_dynamic_shared", settings.max_dynamic_shared},
          {"registers", settings.registers},
          {"static_shared", settings.static_shared},
          {"local_bytes", settings.local_bytes},
          {"binary_version", settings.binary_version},
          {"ptx_version", settings.ptx_version},
          {"stack_limit", settings.stack_limit},
          {"heap_limit", settings.heap_limit},
          {"printf_limit", settings.printf_limit},
          {"cache_config", settings.cache_config},
          {"stream", settings.stream}};
}

LaunchSettings settings_from_json(const Json& from) {
  LaunchSettings settings;
  settings.known = true;
  settings.entry = from.value("entry", "");
  if (from.contains("cluster"))
    settings.cluster = {from["cluster"].at(0), from["cluster"].at(1), from["cluster"].at(2)};
  settings.cluster_policy = from.value("cluster_policy", 0);
  settings.priority = from.value("priority", 0);
  settings.programmatic = from.value("programmatic", false);
  settings.carveout = from.value("carveout", -1);
  settings.other = from.value("other", std::vector<std::string>());
  settings.max_dynamic_shared = from.value("max_dynamic_shared", 0u);
  settings.registers = from.value("registers", 0u);
  settings.static_shared = from.value("static_shared", 0u);
  settings.local_bytes = from.value("local_bytes", 0u);
  settings.binary_version = from.value("binary_version", 0);
  settings.ptx_version = from.value("ptx_version", 0);
  settings.stack_limit = from.value("stack_limit", uint64_t(0));
  settings.heap_limit = from.value("heap_limit", uint64_t(0));
  settings.printf_limit = from.value("printf_limit", uint64_t(0));
  settings.cache_config = from.value("cache_config", 0);
  settings.stream = from.value("stream", "");
  return settings;
}

Json instance_to_json(const CapturedInstance& instance) {
  Json regions = Json::array(), variables = Json::array();
  for (auto& region : instance.regions) {
    Json entry = {
        {"address", region.address}, {"kind", name(region.kind)}, {"reached_from", region.reached_from.text()}};
    if (region.shared) entry["shared"] = true;
    images_to_json(entry, region.before, region.after);
    regions.push_back(std::move(entry));
  }
  for (auto& variable : instance.variables) {
    Json entry = {
        {"name", variable.name}, {"key", variable.key}, {"constant", variable.constant}, {"address", variable.address}};
    images_to_json(entry, variable.before, variable.after);
    variables.push_back(std::move(entry));
  }
  Json line = to_json(static_cast<const RecordedLaunch&>(instance));
  line.update({{"kernel", instance.kernel},
               {"mangled", instance.mangled},
               {"unit", instance.unit},
               {"launch_index", instance.launch_index},
               {"regions", regions},
               {"variables", variables}});
  if (!instance.source_stem.empty()) line["source_stem"] = instance.source_stem;
  if (instance.code.size > 0) line["code"] = memory_to_json(instance.code);
  return line;
}

CapturedInstance instance_from_json(const Json& from) {
  CapturedInstance instance;
  read_recorded_launch(from, instance);
  instance.kernel = from.at("kernel");
  instance.mangled = from.at("mangled");
  instance.unit = from.at("unit");
  instance.launch_index = from.at("launch_index");
  for (auto& entry : from.at("regions")) {
    CapturedRegion region;
    region.address = entry.at("address").get<uint64_t>();
    auto kind = memory_kind_from_name(entry.at("kind"));
    if (!kind.ok()) malformed(kind.error().message);
    region.kind = *kind;
    region.reached_from = Origin::parse(entry.at("reached_from").get<std::string>());
    region.shared = entry.value("shared", false);
    images_from_json(entry, region.address, region.before, region.after);
    instance.regions.push_back(std::move(region));
  }
  for (auto& entry : from.at("variables")) {
    CapturedVariable variable;
    variable.name = entry.at("name");
    variable.key = entry.at("key");
    variable.constant = entry.at("constant");
    variable.address = entry.at("address").get<uint64_t>();
    images_from_json(entry, variable.address, variable.before, variable.after);
    instance.variables.push_back(std::move(variable));
  }
  instance.source_stem = from.value("source_stem", "");
  if (from.contains("code")) instance.code = memory_from_json(from["code"]);
  return instance;
}

Json info_to_json(const CaptureInfo& info) {
  Json profile = Json::array(), omissions = Json::array(), weights = Json::object();
  for (auto& kernel : info.profile) {
    Json shapes = Json::array();
    for (auto& shape : kernel.shapes)
      shapes.push_back({{"geometry", to_json(shape.geometry)}, {"count", shape.count}, {"total_us", shape.total_us}});
    profile.push_back({{"key", kernel.key},
                       {"mangled", kernel.mangled},
                       {"count", kernel.count},
                       {"total_us", kernel.total_us},
                       {"min_us", kernel.min_us},
                       {"median_us", kernel.median_us},
                       {"max_us", kernel.max_us},
                       {"shapes", shapes}});
  }
  for (auto& omission : info.omissions) omissions.push_back({{"what", omission.what}, {"why", omission.why}});
  for (auto& [id, share] : info.shares) {
    weights[id] = {{"weight", share.weight},     {"microseconds", share.microseconds},
                   {"held_out", share.held_out}, {"launches", share.like.count},
                   {"low", share.like.low},      {"high", share.like.high},
                   {"own", share.like.own}};
    if (!share.like.rewritten.empty()) weights[id]["rewritten"] = share.like.rewritten;
  }
  Json document = {{"device", info.device},
                   {"command", info.command},
                   {"folder", info.folder},
                   {"run_seconds", info.run_seconds},
                   {"span_seconds", info.span_seconds},
                   {"recorder_seconds", info.recorder_seconds},
                   {"complete", info.complete},
                   {"profile", profile},
                   {"omissions", omissions},
                   {"shares", weights},
                   {"superseded", info.superseded}};
  if (info.rank) document["rank"] = *info.rank;
  for (auto& process : info.processes) {
    Json one = {{"name", process.name},           {"command", process.command},   {"run_seconds", process.run_seconds},
                {"kernel_us", process.kernel_us}, {"launches", process.launches}, {"images", process.images}};
    if (process.rank) one["rank"] = *process.rank;
    document["processes"].push_back(std::move(one));
  }
  return document;
}

std::optional<uint64_t> rank_from_json(const Json& from) {
  return from.contains("rank") ? std::optional<uint64_t>(from["rank"].get<uint64_t>()) : std::nullopt;
}

CaptureInfo info_from_json(const Json& from) {
  CaptureInfo info;
  info.device = from.at("device");
  info.command = from.at("command").get<std::vector<std::string>>();
  info.folder = from.at("folder");
  info.run_seconds = from.at("run_seconds");
  info.span_seconds = from.value("span_seconds", 0.0);
  info.recorder_seconds = from.value("recorder_seconds", 0.0);
  info.complete = from.at("complete");
  info.rank = rank_from_json(from);
  for (auto& one : from.value("processes", Json::array()))
    info.processes.push_back({one.at("name"), rank_from_json(one), one.at("command").get<std::vector<std::string>>(),
                              one.at("run_seconds"), one.at("kernel_us"), one.at("launches"), one.at("images")});
  for (auto& entry : from.at("profile")) {
    KernelProfile kernel;
    kernel.key = entry.at("key");
    kernel.mangled = entry.at("mangled");
    kernel.count = entry.at("count");
    kernel.total_us = entry.at("total_us");
    kernel.min_us = entry.at("min_us");
    kernel.median_us = entry.at("median_us");
    kernel.max_us = entry.at("max_us");
    for (auto& shape : entry.at("shapes"))
      kernel.shapes.push_back({geometry_from_json(shape.at("geometry")), shape.at("count"), shape.at("total_us")});
    info.profile.push_back(std::move(kernel));
  }
  for (auto& entry : from.at("omissions")) info.omissions.push_back({entry.at("what"), entry.at("why")});
  info.superseded = from.at("superseded").get<std::vector<std::string>>();
  for (auto& [id, share] : from.at("shares").items())
    info.shares[id] = {share.at("weight"),
                       share.at("microseconds"),
                       share.at("held_out"),
                       {share.value("launches", uint64_t(0)), share.value("low", 0.0), share.value("high", 0.0),
                        share.value("own", 0.0), share.value("rewritten", std::vector<uint32_t>())}};
  return info;
}

/// Appends all of `text`, or nothing.
Status append(OwnFile& own, uint64_t& end, std::string_view text, const fs::path& file) {
  KERNELIFT_TRY(own.hold());
  const int fd = own.number();
  for (uint64_t at = 0; at < text.size();) {
    ssize_t put = pwrite(fd, text.data() + at, text.size() - at, static_cast<off_t>(end + at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      Error error = file_error("write", file);
      if (ftruncate(fd, static_cast<off_t>(end)) != 0) error.message += " (and its tail could not be cut off)";
      return error;
    }
    at += static_cast<uint64_t>(put);
  }
  end += text.size();
  if (fdatasync(fd) != 0 && errno != EINVAL) return file_error("write", file);
  return done();
}

}  // namespace

const char* name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device: return "device";
    case MemoryKind::Managed: return "managed";
    case MemoryKind::HostMapped: return "host-mapped";
    case MemoryKind::Variable: return "variable";
    case MemoryKind::Array: return "array";
    case MemoryKind::Texture: return "texture";
  }
  return "device";
}

Result<MemoryKind> memory_kind_from_name(const std::string& text) {
  for (auto kind : {MemoryKind::Device, MemoryKind::Managed, MemoryKind::HostMapped, MemoryKind::Variable,
                    MemoryKind::Array, MemoryKind::Texture})
    if (text == name(kind)) return kind;
  return environment_error("'" + text +
                           "' is not a kind of memory (device, managed, host-mapped, variable, array, texture)");
}

Json to_json(const Geometry& geometry) {
  return {{"grid", {geometry.grid.x, geometry.grid.y, geometry.grid.z}},
          {"block", {geometry.block.x, geometry.block.y, geometry.block.z}},
          {"shared_bytes", geometry.shared_bytes},
          {"cooperative", geometry.cooperative}};
}

Geometry geometry_from_json(const Json& from) {
  auto dim = [](const Json& axes) {
    return Dim3{axes.at(0).get<uint32_t>(), axes.at(1).get<uint32_t>(), axes.at(2).get<uint32_t>()};
  };
  Geometry geometry{dim(from.at("grid")), dim(from.at("block")), from.at("shared_bytes").get<uint32_t>(),
                    from.at("cooperative")};
  auto within = [](const Dim3& dim, const Dim3& most) {
    return dim.x >= 1 && dim.y >= 1 && dim.z >= 1 && dim.x <= most.x && dim.y <= most.y && dim.z <= most.z;
  };
  // Grids of HIP may be larger along y and z than CUDA's.
  constexpr uint32_t kMost = kLargestGrid.x;
  if (!within(geometry.grid, {kMost, kMost, kMost}) || !within(geometry.block, kLargestBlock) ||
      geometry.block.count() > kMostThreadsPerBlock)
    malformed("no kernel can have been launched with " + geometry.text());
  return geometry;
}

Json to_json(const std::vector<Parameter>& parameters) {
  Json list = Json::array();
  for (auto& parameter : parameters) list.push_back({{"offset", parameter.offset}, {"size", parameter.size}});
  return list;
}

std::vector<Parameter> parameters_from_json(const Json& from) {
  std::vector<Parameter> parameters;
  for (auto& entry : from) parameters.push_back({entry.at("offset").get<uint32_t>(), entry.at("size").get<uint32_t>()});
  return parameters;
}

Json to_json(const RecordedLaunch& launch) {
  Json json = {{"id", launch.id},
               {"geometry", to_json(launch.geometry)},
               {"arguments", hex_text(launch.arguments)},
               {"parameters", to_json(launch.parameters)},
               {"microseconds", launch.microseconds},
               {"weight", launch.weight},
               {"held_out", launch.held_out}};
  // Members that older readers do not know, and that most launches do not have.
  if (launch.settings.known) json["settings"] = settings_to_json(launch.settings);
  for (auto& range : launch.unreached) json["unreached"].push_back({range.address, range.size});
  return json;
}

void read_recorded_launch(const Json& from, RecordedLaunch& launch) {
  launch.id = from.at("id");
  launch.geometry = geometry_from_json(from.at("geometry"));
  launch.arguments = bytes_from_hex(from.at("arguments"));
  launch.parameters = parameters_from_json(from.at("parameters"));
  for (auto& parameter : launch.parameters)
    if (uint64_t(parameter.offset) + parameter.size > launch.arguments.size())
      malformed("a parameter of instance " + launch.id + " lies outside its arguments");
  launch.microseconds = from.at("microseconds");
  launch.weight = from.at("weight");
  launch.held_out = from.at("held_out");
  if (auto settings = from.find("settings"); settings != from.end()) launch.settings = settings_from_json(*settings);
  if (auto unreached = from.find("unreached"); unreached != from.end())
    for (auto& range : *unreached) launch.unreached.push_back({range.at(0), range.at(1)});
}

std::string unreached_text(const std::vector<MemoryRange>& unreached) {
  if (unreached.empty()) return "";
  constexpr size_t kMostNamed = 4;
  auto size_of = [](uint64_t bytes) {
    return bytes < 10 << 20 ? std::to_string((bytes + 1023) >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
  };
  uint64_t bytes = 0;
  for (auto& range : unreached) bytes += range.size;
  std::vector<MemoryRange> largest = unreached;
  std::sort(largest.begin(), largest.end(),
            [](auto& a, auto& b) { return a.size != b.size ? a.size > b.size : a.address < b.address; });
  std::string text = std::to_string(unreached.size()) + " allocation" + (unreached.size() > 1 ? "s" : "") + " (" +
                     size_of(bytes) +
                     ") alive at the launch are not in the capture, since nothing that the kernel is "
                     "given leads to them:";
  for (size_t i = 0; i < std::min(largest.size(), kMostNamed); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, " 0x%llx+%s", static_cast<unsigned long long>(largest[i].address),
                  size_of(largest[i].size).c_str());
    text += (i ? "," : "") + std::string(name);
  }
  if (largest.size() > kMostNamed) text += ", ...";
  return text + "; to take them too: kernelift record --all-memory";
}

std::string hex_text(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (auto byte : bytes) text += kDigits[unsigned(byte) >> 4], text += kDigits[unsigned(byte) & 15];
  return text;
}

std::vector<std::byte> bytes_from_hex(const Json& from) {
  auto text = from.get<std::string>();
  auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return unsigned(c - '0');
    if (c >= 'a' && c <= 'f') return unsigned(c - 'a' + 10);
    malformed("a byte string holds something else than hex digits");
  };
  if (text.size() % 2) malformed("a byte string has an odd number of hex digits");
  std::vector<std::byte> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return bytes;
}

struct CaptureWriter::State {
  fs::path folder;
  std::unique_ptr<ChunkWriter> chunks;
  OwnFile journal;
  uint64_t journal_end = 0;
};

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureWriter::~CaptureWriter() = default;

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(const fs::path& folder) {
  auto state = std::make_unique<State>();
  state->folder = folder;
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return environment_error("cannot create " + folder.string() + ": " + code.message());
  KERNELIFT_ASSIGN(state->chunks, ChunkWriter::create(folder / kBlobs));
  fs::path journal = folder / kJournal;
  KERNELIFT_ASSIGN(state->journal, OwnFile::create(journal));
  std::string head = compact(artefact(kJournalFormat, kCaptureVersion, kCaptureVersion)) + "\n";
  KERNELIFT_TRY(append(state->journal, state->journal_end, head, journal));
  return std::unique_ptr<CaptureWriter>(new CaptureWriter(std::move(state)));
}

Result<Image> CaptureWriter::store(std::span<const std::byte> bytes, const Image* base) {
  Image image;
  image.size = bytes.size();
  // A copy, so that the bytes that are hashed are those that are stored: other threads may be writing to `bytes`.
  std::vector<std::byte> own;
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    bool like = base && base->size == bytes.size();
    auto chunk = bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at));
    own.assign(chunk.begin(), chunk.end());
    KERNELIFT_ASSIGN(Hash hash, store_chunk(own, like ? &base->chunks[at / kChunkBytes] : nullptr));
    image.chunks.push_back(hash);
  }
  return image;
}

Result<Hash> CaptureWriter::store_chunk(std::span<const std::byte> bytes, const Hash* base) {
  return base ? state_->chunks->put_like(bytes, *base) : state_->chunks->put(bytes);
}

Status CaptureWriter::finish_instance(const CapturedInstance& instance) {
  KERNELIFT_TRY(state_->chunks->sync());
  std::string text = compact(instance_to_json(instance));
  std::string line = std::string(kLineHead) + hash_text(text).hex() + std::string(kLineMiddle) + text + "}\n";
  return append(state_->journal, state_->journal_end, line, state_->folder / kJournal);
}

Status CaptureWriter::finish(const CaptureInfo& info) {
  KERNELIFT_TRY(state_->chunks->sync());
  return write_capture_info(state_->folder, info);
}

Status write_capture_info(const fs::path& folder, const CaptureInfo& info) {
  Json manifest = artefact(kCaptureFormat, kCaptureVersion, kCaptureVersion), body = info_to_json(info);
  manifest["hash"] = hash_text(compact(body)).hex();
  manifest["capture"] = std::move(body);
  return write_json(folder / kManifest, manifest);
}

uint64_t CaptureWriter::stored_bytes() const { return state_->chunks->file_bytes(); }

struct Capture::State {
  CaptureInfo info;
  std::vector<CapturedInstance> instances;
  std::vector<std::string> damage;
  std::string lost_marks;
  std::unique_ptr<ChunkReader> chunks;

  Status read_journal(const fs::path& file) {
    KERNELIFT_ASSIGN(std::string text, read_text(file));
    size_t at = 0;
    for (bool head = true; at < text.size(); head = false) {
      size_t end = text.find('\n', at);
      std::string where = file.string() + " at offset " + std::to_string(at);
      if (end == std::string::npos) {
        // Torn by a kill while it was written; all lines before it are whole. A file without a whole head is no
        // journal.
        if (head) return environment_error(file.string() + " is truncated at offset " + std::to_string(text.size()));
        damage.push_back(where + ": the last line is cut short; its instance was not finished");
        break;
      }
      std::string_view line = std::string_view(text).substr(at, end - at);
      if (head) {
        KERNELIFT_ASSIGN(Json value, parse_json(line, where));
        KERNELIFT_TRY(check_artefact(value, kJournalFormat, kCaptureVersion, file.string()));
      } else if (auto instance = read_line(line, where); instance.ok()) {
        instances.push_back(std::move(*instance));
      } else {
        damage.push_back(instance.error().message);
      }
      at = end + 1;
    }
    if (text.empty()) return environment_error(file.string() + " is empty; record again");
    return done();
  }

  static Result<CapturedInstance> read_line(std::string_view line, const std::string& where) {
    bool shaped = line.size() > kLinePrefix && line.starts_with(kLineHead) && line.ends_with('}') &&
                  line.substr(kLineHead.size() + kHexDigits).starts_with(kLineMiddle);
    auto hash = shaped ? Hash::from_hex(line.substr(kLineHead.size(), kHexDigits)) : std::nullopt;
    std::string_view body = shaped ? line.substr(kLinePrefix, line.size() - kLinePrefix - 1) : "";
    if (!hash || hash_text(body) != *hash)
      return environment_error(where + ": this instance is damaged (its checksum does not match) and is left out");
    KERNELIFT_ASSIGN(Json value, parse_json(body, where));
    return reading(where, [&] { return instance_from_json(value); });
  }

  /// A newer manifest is refused like any newer file; if it is damaged the profile is lost, not the instances.
  Status read_manifest(const fs::path& file) {
    bool newer = false;
    auto read = [&]() -> Result<CaptureInfo> {
      KERNELIFT_ASSIGN(Json value, read_json(file));
      newer = is_newer(value, kCaptureVersion);
      KERNELIFT_TRY(check_artefact(value, kCaptureFormat, kCaptureVersion, file.string()));
      return reading(file.string(), [&] {
        const Json& body = value.at("capture");
        if (hash_text(compact(body)).hex() != value.at("hash").get<std::string>())
          malformed("its checksum does not match");
        return info_from_json(body);
      });
    }();
    if (newer) return std::move(read).error();
    if (read.ok()) info = std::move(*read);
    else damage.push_back(read.error().message), lost_marks = damage.back();
    return done();
  }
};

Capture::Capture(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const CaptureInfo& Capture::info() const { return state_->info; }
const std::vector<CapturedInstance>& Capture::instances() const { return state_->instances; }
const std::vector<std::string>& Capture::damage() const { return state_->damage; }
const std::string& Capture::lost_marks() const { return state_->lost_marks; }

Result<Capture> Capture::open(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder / kBlobs, code))
    return environment_error(folder.string() + " holds no capture (no " + kBlobs + "); make one with kernelift record");
  auto state = std::make_shared<State>();
  KERNELIFT_ASSIGN(state->chunks, ChunkReader::open(folder / kBlobs));
  state->damage = state->chunks->damage();
  KERNELIFT_TRY(state->read_journal(folder / kJournal));
  if (fs::exists(folder / kManifest, code)) KERNELIFT_TRY(state->read_manifest(folder / kManifest));
  std::erase_if(state->instances, [&](const CapturedInstance& instance) {
    return std::ranges::find(state->info.superseded, instance.id) != state->info.superseded.end();
  });
  for (auto& instance : state->instances)
    if (auto share = state->info.shares.find(instance.id); share != state->info.shares.end()) {
      instance.weight = share->second.weight;
      instance.microseconds = share->second.microseconds;
      instance.held_out = share->second.held_out;
      instance.like = share->second.like;
    }
  return Capture(std::move(state));
}

Result<std::vector<std::byte>> Capture::load(const Image& image) const {
  std::vector<std::byte> bytes;
  // A damaged size must not reserve huge memory before the first chunk is read: chunks are checked one by one.
  bytes.reserve(std::min<uint64_t>(image.size, image.chunks.size() * kChunkBytes));
  for (size_t i = 0; i < image.chunks.size(); ++i) {
    uint64_t size = std::min<uint64_t>(kChunkBytes, image.size - i * kChunkBytes);
    KERNELIFT_TRY(state_->chunks->read(image.chunks[i], size, bytes));
  }
  return bytes;
}

Status Capture::load(const Image& image, std::span<std::byte> into) const {
  if (into.size() != image.size || image.chunks.size() != chunks_of(image.size))
    return environment_error("an image of " + std::to_string(image.size) + " bytes in " +
                             std::to_string(image.chunks.size()) + " chunks is damaged; record again");
  return in_parallel(image.chunks.size(), [&](size_t i) {
    uint64_t begin = i * kChunkBytes;
    return state_->chunks->read(image.chunks[i],
                                into.subspan(begin, std::min<uint64_t>(kChunkBytes, image.size - begin)));
  });
}

}  // namespace kernelift
