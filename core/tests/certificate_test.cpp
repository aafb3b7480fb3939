// Claims about core/model/verdict/certificate.h.
#include "core/model/verdict/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/file.h"
#include "core/tests/slot_folder.h"

namespace kernelift {
namespace {

using Kind = CertifiedItem::Kind;

Verdict right() {
  Verdict verdict;
  verdict.device = "cpu: a processor", verdict.image.identity = ImageIdentity::of("image");
  verdict.timings = {{"a", 1, 2e-3, 1e-3, 2.0, 1.9, 2.1, 30, false}};
  verdict.other_sizes = OtherSizes{OtherSizes::Known::UnderPremise, *Expression::parse("n % 4 == 0"), "n = 1"};
  SizesRun& run = verdict.sizes_run.emplace();
  run.right = {{"a", {{"n", 31}}, ""}, {"a", {{"n", 4095}}, ""}}, run.unshown = {{"a", {{"n", 77}}, ""}};
  run.dropped = {{{"a", {{"n", 1}}, "y = x"}, "the original races there"}}, run.seed = 7;
  return verdict;
}

Mep mep() {
  Mep mep;
  mep.kernel_key = "k(float*)", mep.compile_command = {"nvcc", "-O2", "a.cu"};
  MepInstance& instance = mep.instances.emplace_back();
  instance.id = "a", instance.arguments.resize(8);
  instance.regions.emplace_back().before = "0123.bin";
  return mep;
}

Certificate certificate(const Verdict& verdict = right()) {
  Candidate candidate;
  candidate.source = "__global__ void k(float*) {}", candidate.steps = {Step::described("by hand")};
  return Certificate::of(mep(), "the original", candidate, verdict);
}

Kind kind_of(const std::vector<CertifiedItem>& items, const std::string& what) {
  return std::ranges::find(items, what, &CertifiedItem::what)->kind;
}

size_t differing(const std::vector<CertifiedItem>& items) {
  return static_cast<size_t>(std::ranges::count(items, Kind::Differs, &CertifiedItem::kind));
}

TEST(Certificate, SurvivesItsFile) {
  SlotFolder folder;
  Certificate written = certificate();
  written.at = "2026-01-01 00:00 UTC", written.patch = hash_text("diff").hex();
  ASSERT_TRUE(written.write(folder.path() / "c.json").ok());
  auto read = Certificate::read(folder.path() / "c.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->at, written.at);
  EXPECT_EQ(read->patch, written.patch);
  EXPECT_EQ(read->candidate.note(), "by hand");
  EXPECT_EQ(read->verdict.sizes_run->seed, 7u);
  EXPECT_EQ(to_json(read->verdict), to_json(written.verdict));
  for (auto& item : compare(*read, written)) EXPECT_EQ(item.kind, Kind::Agrees) << item.text();
}

TEST(Certificate, AFileThatWasChangedIsRefused) {
  SlotFolder folder;
  const auto file = folder.path() / "c.json";
  ASSERT_TRUE(certificate().write(file).ok());
  auto text = read_text(file);
  ASSERT_TRUE(text.ok());
  const size_t at = text->find("4095");
  ASSERT_NE(at, text->npos);
  ASSERT_TRUE(write_atomically(file, text->replace(at, 4, "4096")).ok());
  auto read = Certificate::read(file);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("damaged"), std::string::npos) << read.error().message;
}

TEST(Certificate, OtherInputsOrAnotherOriginalDiffer) {
  Mep other = mep();
  other.instances[0].regions[0].before = "4567.bin";
  const Certificate certified = certificate();
  auto items = compare(certified, Certificate::of(other, "the original", certified.candidate, right()));
  EXPECT_EQ(kind_of(items, "recorded inputs"), Kind::Differs);
  EXPECT_EQ(differing(items), 1u);
  items = compare(certified, Certificate::of(mep(), "another original", certified.candidate, right()));
  EXPECT_EQ(kind_of(items, "original source"), Kind::Differs);
  EXPECT_EQ(differing(items), 1u);
}

TEST(Certificate, ACandidateThatIsWrongHereDiffers) {
  Verdict wrong = right();
  wrong.outcome = Outcome::Wrong, wrong.timings.clear();
  const auto items = compare(certificate(), certificate(wrong));
  EXPECT_EQ(kind_of(items, "outcome"), Kind::Differs);
  EXPECT_EQ(kind_of(items, "gain"), Kind::Differs);
}

TEST(Certificate, FewerSizesOrAWeakerProofDiffer) {
  Verdict fewer = right();
  fewer.sizes_run->unshown.clear();
  EXPECT_EQ(kind_of(compare(certificate(), certificate(fewer)), "sizes run"), Kind::Differs);
  EXPECT_EQ(kind_of(compare(certificate(fewer), certificate()), "sizes run"), Kind::Agrees);
  Verdict weaker = right(), proven = right();
  weaker.other_sizes->known = OtherSizes::Known::Not;
  proven.other_sizes = OtherSizes{OtherSizes::Known::Proven, {}, {}};
  EXPECT_EQ(kind_of(compare(certificate(), certificate(weaker)), "memory at other sizes"), Kind::Differs);
  EXPECT_EQ(kind_of(compare(certificate(), certificate(proven)), "memory at other sizes"), Kind::Agrees);
}

TEST(Certificate, AnotherMachineMayHaveAnotherGainButNotAnotherResult) {
  Verdict elsewhere = right();
  elsewhere.device = "cpu: another one", elsewhere.image.identity = ImageIdentity::of("another image");
  elsewhere.timings[0].speedup_low = 0.9;
  const auto items = compare(certificate(), certificate(elsewhere));
  for (auto* what : {"device", "image", "gain"}) EXPECT_EQ(kind_of(items, what), Kind::Elsewhere) << what;
  EXPECT_EQ(differing(items), 0u);
  elsewhere.device = right().device;
  EXPECT_EQ(kind_of(compare(certificate(), certificate(elsewhere)), "gain"), Kind::Differs);
}

}  // namespace
}  // namespace kernelift
