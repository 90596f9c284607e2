#include "import/watch/watched_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace wf::watch {
namespace {

int zeroed_data[4096];  // lies behind what the file holds

TEST(WatchedProcess, KnowsThisProcess) {
  const auto process = WatchedProcess::Look(getpid());
  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_EQ(process->service, "import_watch_test");
  EXPECT_EQ(process->own_pid, getpid());
  EXPECT_GT(process->started, 0u);
  EXPECT_FALSE(process->host.empty());
  EXPECT_EQ(process->NameOf(reinterpret_cast<uint64_t>(&zeroed_data[4000]))
                .rfind("import_watch_test+0x", 0),
            0u)
      << process->NameOf(reinterpret_cast<uint64_t>(&zeroed_data[4000]));
  const auto heap = std::make_unique<std::string>(1000, 'x');
  EXPECT_EQ(process->NameOf(reinterpret_cast<uint64_t>(heap->data())).rfind("0x", 0), 0u);
  EXPECT_FALSE(process->CodeFiles().empty());
  EXPECT_FALSE(process->ThreadName(static_cast<uint32_t>(getpid())).empty());
  EXPECT_EQ(process->ThreadName(0x7FFFFFFF), "");
}

TEST(WatchedProcess, MappingsAreReadAsTheyStand) {
  const auto mappings = ParseMappings(
      "55d0c0a00000-55d0c0a21000 r-xp 00001000 fe:00 1234                       /opt/my shop/bin\n"
      "55d0c0a21000-55d0c0a22000 rw-p 00000000 00:00 0 \n"
      "nonsense\n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]");
  ASSERT_EQ(mappings.size(), 3u);
  EXPECT_EQ(mappings[0].begin, 0x55d0c0a00000u);
  EXPECT_EQ(mappings[0].end, 0x55d0c0a21000u);
  EXPECT_TRUE(mappings[0].executable);
  EXPECT_EQ(mappings[0].file, "/opt/my shop/bin");
  EXPECT_FALSE(mappings[1].executable);
  EXPECT_EQ(mappings[1].file, "");
  EXPECT_EQ(mappings[2].file, "[stack]");
}

}  // namespace
}  // namespace wf::watch
