// Frames from honest and from hostile peers.
#include "sandbox/jail/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "core/base/wire.h"

namespace kernelift::sandbox {
namespace {

using std::chrono::milliseconds;

struct Ends {
  Channel ours, theirs;
  Ends() {
    auto pair = Channel::pair();
    EXPECT_TRUE(pair.ok());
    ours = std::move(pair->first), theirs = std::move(pair->second);
  }
  void write_raw(std::string_view bytes) {
    ASSERT_EQ(write(theirs.fd(), bytes.data(), bytes.size()), ssize_t(bytes.size()));
  }
};

TEST(Channel, CarriesLargeFramesWhole) {
  Ends ends;
  std::string large(5 << 20, 'x');
  std::thread sender([&] { EXPECT_TRUE(ends.theirs.send(7, large)); });
  Frame frame = ends.ours.receive(after(milliseconds(60000)));
  sender.join();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame.type, 7u);
  EXPECT_EQ(frame.body, large);
}

TEST(Channel, CarriesDescriptors) {
  Ends ends;
  int fd = STDERR_FILENO;
  ASSERT_TRUE(ends.theirs.send(1, "x", {&fd, 1}));
  Frame frame = ends.ours.receive(after(milliseconds(60000)));
  ASSERT_EQ(frame.descriptors.size(), 1u);
  EXPECT_GT(frame.descriptors[0].get(), 2);
}

TEST(Channel, DistinguishesADeadPeerFromASilentOne) {
  Ends ends;
  EXPECT_EQ(ends.ours.receive(after(milliseconds(20))).arrival, Arrival::TimedOut);
  ends.theirs.close();
  EXPECT_EQ(ends.ours.receive(after(milliseconds(20))).arrival, Arrival::Closed);
  EXPECT_FALSE(ends.ours.send(1, "into the void"));
}

TEST(Channel, RefusesBytesThatAreNoFrame) {
  Ends ends;
  ends.write_raw("this is not a frame at all, but long enough for a head");
  EXPECT_EQ(ends.ours.receive(after(milliseconds(100))).arrival, Arrival::Malformed);
}

TEST(Channel, RefusesAFrameLargerThanTheLimit) {
  Ends ends;
  ASSERT_TRUE(ends.theirs.send(1, std::string(100, 'x')));
  EXPECT_EQ(ends.ours.receive(after(milliseconds(100)), 99).arrival, Arrival::Malformed);
}

TEST(Channel, TimesOutOnATruncatedFrame) {
  Ends full;
  ASSERT_TRUE(full.theirs.send(1, std::string(100, 'x')));
  char head[60];
  ASSERT_EQ(read(full.ours.fd(), head, sizeof head), ssize_t(sizeof head));
  Ends cut;
  cut.write_raw({head, sizeof head});
  EXPECT_EQ(cut.ours.receive(after(milliseconds(30))).arrival, Arrival::TimedOut);
}

TEST(Channel, ContinuesAFrameOfWhichAPartArrivedBeforeTheDeadline) {
  Ends whole;
  ASSERT_TRUE(whole.theirs.send(3, std::string(100, 'x') + "end"));
  char bytes[16 + 103];
  ASSERT_EQ(read(whole.ours.fd(), bytes, sizeof bytes), ssize_t(sizeof bytes));
  Ends ends;
  size_t from = 0;
  for (size_t step : {5, 30, 80}) {
    ends.write_raw({bytes + from, step});
    EXPECT_EQ(ends.ours.receive(after(milliseconds(10))).arrival, Arrival::TimedOut);
    from += step;
  }
  ends.write_raw({bytes + 115, 4});
  Frame frame = ends.ours.receive(after(milliseconds(60000)));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame.type, 3u);
  EXPECT_EQ(frame.body, std::string(100, 'x') + "end");
  ASSERT_TRUE(ends.theirs.send(4, "the next"));
  EXPECT_EQ(ends.ours.receive(after(milliseconds(60000))).body, "the next");
}

TEST(Channel, GivesUpSendingToAPeerThatDoesNotRead) {
  Ends ends;
  EXPECT_FALSE(ends.ours.send(1, std::string(64 << 20, 'x'), {}, after(milliseconds(50))));
}

TEST(Wire, IsReadBackAsItWasWritten) {
  auto bytes = WireWriter().number(5).text("abc").real(1.5).texts({"x", "", "yz"}).reals({1, 2}).take();
  WireReader reader(bytes);
  EXPECT_EQ(reader.number(), 5u);
  EXPECT_EQ(reader.text(), "abc");
  EXPECT_EQ(reader.real(), 1.5);
  EXPECT_EQ(reader.texts(), (std::vector<std::string>{"x", "", "yz"}));
  EXPECT_EQ(reader.reals(), (std::vector<double>{1, 2}));
  EXPECT_TRUE(reader.ok());
}

TEST(Wire, SurvivesTruncationAndFlippedBitsEverywhere) {
  auto whole = WireWriter().number(5).text("abc").texts({"x", "yz"}).reals({1, 2}).take();
  auto read_all = [](std::string_view bytes) {
    WireReader reader(bytes);
    reader.number();
    size_t size = reader.text().size() + reader.texts().size() + reader.reals().size();
    return std::pair(reader.ok(), size);
  };
  for (size_t cut = 0; cut < whole.size(); ++cut) EXPECT_FALSE(read_all(std::string_view(whole).substr(0, cut)).first);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] ^= char(1 << bit % 8);
    EXPECT_LT(read_all(flipped).second, whole.size());
  }
}

}  // namespace
}  // namespace kernelift::sandbox
