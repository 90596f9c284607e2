#include "import/watch/lock_functions.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace wf::watch {
namespace {

uint32_t Index(std::string_view name) {
  uint32_t index = 0;
  while (kLockFunctions[index].name != name) ++index;
  return index;
}

// The files in which `name` is probed, of those that have it.
std::vector<std::string> Probed(std::string_view name, const std::vector<std::string>& files) {
  std::vector<LockFunctionPlace> places;
  for (const std::string& file : files) places.push_back({file, Index(name), 0x10});
  std::vector<std::string> probed;
  for (const LockFunctionPlace& place : WhereLocksAreTaken(places)) probed.push_back(place.file);
  return probed;
}

TEST(LockFunctions, AWrapperOfTheCLibraryIsNotProbedBesideIt) {
  const std::string libc = "/proc/7/root/usr/lib/x86_64-linux-gnu/libc.so.6";
  using Files = std::vector<std::string>;
  EXPECT_EQ(Probed("pthread_cond_wait", {"/proc/7/root/opt/shop", "/usr/lib/libtsan.so.2", libc}),
            Files{libc});
  EXPECT_EQ(Probed("pthread_mutex_lock", {"/lib/libc-2.31.so", "/lib/libpthread-2.31.so"}),
            Files{"/lib/libpthread-2.31.so"});
  EXPECT_EQ(Probed("pthread_mutex_lock", {"/lib/libpreload.so", "/lib/ld-musl-x86_64.so.1"}),
            Files{"/lib/ld-musl-x86_64.so.1"});
  EXPECT_EQ(Probed("pthread_mutex_lock", {"/opt/static", "/opt/libc++.so.1"}),
            (Files{"/opt/static", "/opt/libc++.so.1"}))
      << "without a C library beside it, whatever has it";
}

TEST(LockFunctions, EachFunctionIsLookedAtByItself) {
  const std::vector<LockFunctionPlace> places =
      WhereLocksAreTaken({{"/opt/shop", Index("pthread_mutex_clocklock"), 1},
                          {"/lib/libc-2.28.so", Index("pthread_mutex_lock"), 2},
                          {"/lib/libc-2.28.so", Index("pthread_mutex_lock"), 3}});
  EXPECT_EQ(places.size(), 3u) << "the old C library has no clocklock; two versions are two places";
}

// The thread sanitizer's builds have each function twice.
TEST(LockFunctions, OfThisProcessEachIsFoundInOneFile) {
  const auto process = WatchedProcess::Look(getpid());
  ASSERT_TRUE(process.ok()) << process.error().message;
  std::vector<std::string> file_of(kLockFunctions.size());
  for (const LockFunctionPlace& place : FindLockFunctions(*process)) {
    std::string& file = file_of[place.function];
    if (file.empty()) file = place.file;
    EXPECT_EQ(file, place.file) << kLockFunctions[place.function].name;
  }
  EXPECT_FALSE(file_of[Index("pthread_mutex_lock")].empty());
  EXPECT_FALSE(file_of[Index("pthread_cond_wait")].empty());
}

}  // namespace
}  // namespace wf::watch
