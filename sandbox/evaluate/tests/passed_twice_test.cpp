// Which pointers of a launch may be one address, by the launch's own text.
#include "sandbox/evaluate/passed_twice.h"

#include <gtest/gtest.h>

namespace kernelift::sandbox {
namespace {

/// Whether a launch that is given the two, of which the scan found one object, may be given one address.
bool may_meet(const char* one, const char* other) {
  LaunchSite site;
  site.argument_text = {one, other};
  site.one_memory = {{0, 1}};
  return !passed_twice(site).empty();
}

TEST(PassedTwice, PlacesInOneObjectAreApartIfTheirOffsetsDifferForAllSizes) {
  for (auto [one, other] : {std::pair{"pool", "pool + n"},
                            {"pool", "pool + n * m"},
                            {"pool + n", "pool + 2 * n"},
                            {"pool + n", "pool + n + m"},
                            {"g.u + 1", "g.u + 2"},
                            {"s->u", "s->u + n / 2"},
                            {"pool - n", "pool"},
                            {"pool + from * n", "pool + from * n + n"}})
    EXPECT_FALSE(may_meet(one, other)) << one << ", " << other;
}

TEST(PassedTwice, PlacesThatVariablesChooseMayBeOne) {
  for (auto [one, other] : {std::pair{"pool + from * n", "pool + to * n"},
                            {"pool", "pool"},
                            {"pool + n", "pool + m"},
                            {"f[i].d", "f[j].d"},
                            {"fields[from]->d", "fields[to]->d"},
                            {"&f[i * n]", "&f[j * n]"},
                            {"pool + offset(a)", "pool + offset(b)"},
                            {"choose(0)", "choose(1)"}})
    EXPECT_TRUE(may_meet(one, other)) << one << ", " << other;
}

}  // namespace
}  // namespace kernelift::sandbox
