// A figure that an application prints, as the measure of a patch.
#include "reintegrate/metric.h"

#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

constexpr const char* kFom = "FOM *= *([^ \n]*)";

std::string why(const Result<double>& read) { return read.ok() ? "" : read.error().message; }

TEST(Metric, ReadsTheFirstGroupAsANumber) {
  auto metric = Metric::parse(kFom, "higher");
  ASSERT_TRUE(metric.ok());
  EXPECT_EQ(*metric->read("start\nFOM = 1.25e+9 z/s\nend\n"), 1.25e9);
  EXPECT_EQ(*metric->read("FOM=+3"), 3);
  EXPECT_EQ(*Metric::parse("^t=([0-9.]+)$", "lower")->read("at=1\nt=2.5\nt=2.5s\n"), 2.5) << "^ and $ are of a line";
}

TEST(Metric, RefusesWhatIsNotOneNumberAboveZero) {
  auto metric = *Metric::parse(kFom, "higher");
  EXPECT_EQ(why(metric.read("no figure here")), "the figure 'FOM *= *([^ \n]*)' (--metric) is not in the run's output");
  EXPECT_NE(why(metric.read("FOM = 1\nFOM = 2\n")).find("is 2 times in the run's output ('FOM = 1', 'FOM = 2'): give"),
            std::string::npos);
  for (const char* text : {"nan", "-1", "0", "inf", "1.0.0", "fast", "1e999", ""})
    EXPECT_NE(why(metric.read(std::string("FOM = ") + text + "\n")).find("which is no number above zero"),
              std::string::npos)
        << text;
}

TEST(Metric, OfTheKernelsSpanReadsWhatRecordPrints) {
  EXPECT_EQ(*Metric::kernel_span().read("{\n \"run_seconds\": 2.5,\n \"span_seconds\": 0.125,\n}"), 0.125);
  EXPECT_EQ(
      why(Metric::kernel_span().read("{\"span_seconds\":0.0,")),
      "the figure 'seconds from the first kernel to the last' is '0.0' in the run's output, which is no number above "
      "zero");
}

TEST(Metric, RefusesWhatIsNoPattern) {
  EXPECT_NE(Metric::parse("FOM = (", "higher").error().message.find("is no extended regular expression"),
            std::string::npos);
  EXPECT_NE(Metric::parse("FOM = 1", "higher").error().message.find("has no group"), std::string::npos);
  EXPECT_NE(Metric::parse(kFom, "faster").error().message.find("is higher or lower"), std::string::npos);
}

TEST(Metric, IsFoundInALineOfMegabytes) {
  const std::string noise(8 << 20, 'x');
  EXPECT_EQ(*Metric::parse("FOM=([0-9]+)", "higher")->read(noise + "FOM=7" + noise), 7);
  EXPECT_EQ(*Metric::parse("FOM=([0-9]+)", "higher")->read(std::string(9, '\0') + "FOM=7"), 7);
}

/// Prints the figure that the kernel states, and takes no time.
class ApplicationWithAFigure : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    write(
        "build.sh",
        "set -e\nmkdir -p out\n{ echo '#!/bin/sh'; sed -n 's/.*delay(\\([0-9.]*\\)).*/echo time = \\1/p' src/k.cu; } > "
        "out/app.new\nchmod +x out/app.new\nmv out/app.new out/app\n");
    candidate("0.05", "0.04");
  }
  void measured_by(const std::string& pattern, const std::string& better) {
    request.trial.metric = *Metric::parse(pattern, better);
  }
};

TEST_F(ApplicationWithAFigure, IsMeasuredByItAndNotByItsDuration) {
  measured_by("time = ([0-9.]+)", "lower");
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->kept()) << report->why;
  EXPECT_NEAR(report->measured->speedup, 1.25, 1e-9);
  EXPECT_NE(report->text().find("0.05 -> 0.04 ('time = ([0-9.]+)', lower is better), medians of"), std::string::npos)
      << report->text();
  const Json json = to_json(*report)["measured"];
  EXPECT_EQ(json["before_median"], 0.05);
  EXPECT_EQ(json["metric"]["better"], "lower");
}

TEST_F(ApplicationWithAFigure, IsNotKeptIfTheFigureBecameWorse) {
  measured_by("time = ([0-9.]+)", "higher");
  request.predicted.kernel_gain = 1.25;
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::NotFaster);
  EXPECT_NE(report->why.find("is higher better (--metric-better)?"), std::string::npos) << report->why;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplicationWithAFigure, IsLeftAloneIfTheFigureIsNotPrinted) {
  measured_by("FOM = ([0-9.]+)", "higher");
  auto report = apply(request);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("is not in the run's output"), std::string::npos) << report.error().message;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

}  // namespace
}  // namespace kernelift::reintegrate
