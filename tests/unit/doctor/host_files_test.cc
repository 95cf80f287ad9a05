#include "doctor/host_files.h"

#include "doctor/amounts.h"
#include "gmock/gmock.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

TEST(HostFilesTest, TextIsStripped) {
  HostFolder host;
  host.Write("/proc/a", " one\ntwo \n\n");
  EXPECT_EQ(host.files().Text("/proc/a"), "one\ntwo");
}

TEST(HostFilesTest, WhatIsMissingIsNotThere) {
  HostFolder host;
  host.MakeFolder("/proc");
  EXPECT_EQ(host.files().Text("/proc/a"), std::nullopt);
  EXPECT_EQ(host.files().Text("/proc"), std::nullopt);
  EXPECT_FALSE(host.files().Has("/proc/a"));
  EXPECT_TRUE(host.files().Has("/proc"));
  EXPECT_TRUE(host.files().Names("/proc/a").empty());
}

TEST(HostFilesTest, NamesAreInOrder) {
  HostFolder host;
  host.Write("/sys/b", "");
  host.Write("/sys/a/c", "");
  EXPECT_THAT(host.files().Names("/sys"), testing::ElementsAre("a", "b"));
}

// Linux refuses large reads of /proc/sys, so a generous buffer would find nothing there.
TEST(HostFilesTest, ReadsThisHostsSysctls) {
  const std::optional<std::string> text = HostFiles().Text("/proc/sys/kernel/shmmax");
  if (!HostFiles().Has("/proc/sys/kernel/shmmax")) GTEST_SKIP() << "/proc/sys is hidden here";
  ASSERT_TRUE(text.has_value());
  EXPECT_TRUE(Number(*text).has_value()) << *text;
}

TEST(AmountsTest, Bytes) {
  EXPECT_EQ(Bytes(0), "0 bytes");
  EXPECT_EQ(Bytes(1023), "1023 bytes");
  EXPECT_EQ(Bytes(64 * kMiB), "64 MiB");
  EXPECT_EQ(Bytes(3 * kGiB / 2), "1.5 GiB");
  EXPECT_EQ(Bytes(~std::uint64_t{0}), "16 EiB");
}

TEST(AmountsTest, NumberOf) {
  constexpr char kText[] = "HugePages_Total:      12\nHugePages_Free:  3\nHugepagesize:  2048 kB\n";
  EXPECT_EQ(NumberOf(kText, "HugePages_Free"), 3);
  EXPECT_EQ(NumberOf(kText, "Hugepagesize"), 2048);
  EXPECT_EQ(NumberOf(kText, "HugePages"), std::nullopt);
  EXPECT_EQ(NumberOf("A:\nB: x", "A"), std::nullopt);
  EXPECT_EQ(NumberOf("A:\nB: x", "B"), std::nullopt);
}

}  // namespace
}  // namespace weir::doctor
