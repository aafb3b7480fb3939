// See certificate.h.
#include "core/model/verdict/certificate.h"

#include <algorithm>
#include <cstdio>

#include "core/base/artefact.h"
#include "core/base/process.h"
#include "core/base/shown/outside_text.h"

namespace kernelift {
namespace {

constexpr const char* kApplyAgain = "apply the run again";

Hash hash_from(const Json& from) {
  auto hash = Hash::from_hex(from.get<std::string>());
  if (!hash) malformed("'" + from.get<std::string>() + "' is no hash");
  return *hash;
}

std::string gain_text(const Verdict& verdict) {
  char text[96];
  std::snprintf(text, sizeof text, "%.3fx (at least %.3fx)", verdict.speedup(), verdict.speedup_low());
  return verdict.ok() ? text : verdict.text();
}

std::string sizes_text(const Verdict& verdict) {
  return verdict.other_sizes ? verdict.other_sizes->text() : "not asked";
}

std::string runs_text(const Verdict& verdict) {
  return verdict.sizes_run ? verdict.sizes_run->text() : "run at recorded sizes only";
}

/// It is not said of fewer sizes. Sizes at which the original is no reference here were tried.
bool covers(const std::optional<SizesRun>& here, const std::optional<SizesRun>& certified) {
  if (!certified) return true;
  if (!here || here->wrong) return false;
  auto known = [&](const OtherSize& size) {
    return std::ranges::find(here->right, size) != here->right.end() ||
           std::ranges::find(here->unshown, size) != here->unshown.end();
  };
  return std::ranges::all_of(certified->right, known) && std::ranges::all_of(certified->unshown, known);
}

bool says_as_much(const std::optional<OtherSizes>& here, const std::optional<OtherSizes>& certified) {
  using Known = OtherSizes::Known;
  if (!certified || certified->known == Known::Not) return true;
  if (!here) return false;
  return here->known == Known::Proven || (here->known == certified->known && here->premise == certified->premise);
}

}  // namespace

Hash inputs_hash(const Mep& mep) {
  Hasher hasher;
  for (auto& instance : mep.instances) {
    hasher.add(instance.id).add(instance.geometry.text()).add(uint64_t(instance.geometry.shared_bytes));
    hasher.add({reinterpret_cast<const char*>(instance.arguments.data()), instance.arguments.size()});
    for (auto& region : instance.regions)
      hasher.add(region.address).add(region.size).add(region.before).add(region.after);
    for (auto& variable : instance.variables) hasher.add(variable.key).add(variable.before).add(variable.after);
  }
  return hasher.finish();
}

Certificate Certificate::of(const Mep& mep, const std::string& original, const Candidate& candidate,
                            const Verdict& verdict) {
  const bool by_application = verdict.built_by == BuiltBy::Application;
  return {mep.kernel_key,
          hash_text(original),
          inputs_hash(mep),
          candidate,
          by_application ? join_command(mep.compile_command) : "clang",
          verdict,
          {},
          {}};
}

Status Certificate::write(const std::filesystem::path& file) const {
  Json json = artefact(kCertificateFormat, kCertificateVersion, kCertificateVersion);
  json["at"] = at, json["kernel"] = kernel, json["original"] = original.hex(), json["inputs"] = inputs.hex();
  json["source"] = hash_text(candidate.source).hex(), json["patch"] = patch, json["compiler"] = compiler;
  json["candidate"] = to_json(candidate), json["verdict"] = to_json(verdict);
  return write_json(file, with_checksum(json));
}

Result<Certificate> Certificate::read(const std::filesystem::path& file) {
  KERNELIFT_ASSIGN(Json json,
                   read_artefact(file, kCertificateFormat, kCertificateVersion, kCertificateVersion, kApplyAgain));
  const std::string where = file.string();
  auto plain = reading(where, [&] {
    return Certificate{json.at("kernel"),
                       hash_from(json.at("original")),
                       hash_from(json.at("inputs")),
                       {},
                       json.at("compiler"),
                       {},
                       json.at("patch"),
                       json.at("at")};
  });
  if (!plain.ok()) return plain;
  auto parts = reading(where, [&] { return std::pair(json.at("candidate"), json.at("verdict")); });
  if (!parts.ok()) return std::move(parts).error();
  KERNELIFT_ASSIGN(plain->candidate, candidate_from_json(parts->first, where));
  KERNELIFT_ASSIGN(plain->verdict, verdict_from_json(parts->second, where));
  return plain;
}

std::string CertifiedItem::text() const {
  if (kind == Kind::Agrees) return "agrees: " + what + ": " + here;
  return std::string(kind == Kind::Differs ? "differs: " : "elsewhere: ") + what + ": " + here +
         "; certified: " + certified;
}

std::vector<CertifiedItem> compare(const Certificate& certified, const Certificate& here) {
  std::vector<CertifiedItem> items;
  using Kind = CertifiedItem::Kind;
  auto item = [&](bool agrees, const std::string& what, const std::string& there, const std::string& now,
                  Kind otherwise = Kind::Differs) {
    items.push_back({agrees ? Kind::Agrees : otherwise, what, there, now});
  };
  auto same_hash = [&](const std::string& what, const Hash& there, const Hash& now) {
    item(there == now, what, there.hex(), now.hex());
  };
  const Verdict &then = certified.verdict, &now = here.verdict;
  same_hash("original source", certified.original, here.original);
  same_hash("recorded inputs", certified.inputs, here.inputs);
  item(certified.candidate.key() == here.candidate.key(), "candidate", certified.candidate.key().hex(),
       here.candidate.key().hex());
  const bool same_device = then.device == now.device;
  item(same_device, "device", then.device, now.device, Kind::Elsewhere);
  item(certified.compiler == here.compiler, "compiler", certified.compiler, here.compiler, Kind::Elsewhere);
  auto image = [](const Verdict& verdict) { return verdict.image.identity ? verdict.image.identity->hex() : "none"; };
  item(then.image.identity == now.image.identity, "image", image(then), image(now), Kind::Elsewhere);
  item(now.ok(), "outcome", "ok", now.ok() ? "ok" : now.text());
  item(says_as_much(now.other_sizes, then.other_sizes), "memory at other sizes", sizes_text(then), sizes_text(now));
  item(covers(now.sizes_run, then.sizes_run), "sizes run", runs_text(then), runs_text(now));
  item(now.gains(), "gain", gain_text(then), gain_text(now), same_device ? Kind::Differs : Kind::Elsewhere);
  return items;
}

}  // namespace kernelift
