#include "weaver/process_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace wf::weaver {
namespace {

TEST(ProcessMaps, FilesOnceWithWhatTheirMappingsSay) {
  const auto files = ParseMaps(
      "55d0a0000000-55d0a0001000 r--p 00000000 fd:01 1234   /usr/bin/a b\n"
      "55d0a0001000-55d0a0002000 r-xp 00001000 fd:01 1234   /usr/bin/a b\n"
      "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
      "7f0000001000-7f0000002000 r-xp 00000000 fd:01 99     /lib/libx.so (deleted)\n"
      "7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0      [vdso]\n"
      "nonsense\n"
      "zz-7f r-xp 0 fd:01 5 /x");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "/usr/bin/a b");
  EXPECT_EQ(files[0].lowest, 0x55d0a0000000u);
  EXPECT_EQ(files[0].inode, 1234u);
  EXPECT_TRUE(files[0].executable);
  EXPECT_FALSE(files[0].deleted);
  EXPECT_EQ(files[1].path, "/lib/libx.so");
  EXPECT_TRUE(files[1].deleted);
}

TEST(ProcessMaps, ThisProcess) {
  const auto loaded = FindLoadedObjects(getpid());
  ASSERT_TRUE(loaded.ok());
  ASSERT_FALSE(loaded->objects.empty());
  EXPECT_TRUE(loaded->objects[0].executable);
  EXPECT_THAT(loaded->objects[0].seen_as, ::testing::EndsWith("/weaver_test"));
  EXPECT_EQ(loaded->objects[0].file, loaded->objects[0].seen_as);
}

}  // namespace
}  // namespace wf::weaver
