#include "base/short_bytes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/hash.h"
#include "base/hash_inline.h"

namespace wf {
namespace {

std::string Text(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text.push_back(static_cast<char>('a' + i % 26));
  return text;
}

TEST(ShortBytes, AreCopiedAndNothingBeside) {
  for (size_t size = 0; size < 40; ++size) {
    const std::string from = Text(size);
    std::string to(size + 2, '#');
    CopyBytes(to.data() + 1, from.data(), size);
    EXPECT_EQ(to, "#" + from + "#");
  }
}

TEST(ShortBytes, AreTheSameIfEveryByteIs) {
  for (size_t size = 0; size < 40; ++size) {
    const std::string a = Text(size);
    std::string b = a;
    EXPECT_TRUE(SameBytes(a.data(), b.data(), size));
    for (size_t i = 0; i < size; ++i) {
      b[i] = '#';
      EXPECT_FALSE(SameBytes(a.data(), b.data(), size)) << size << " " << i;
      b[i] = a[i];
    }
  }
}

TEST(ShortBytes, AreOneWordWithAllOfThem) {
  for (size_t size = 1; size <= 8; ++size) {
    std::string text = Text(size);
    std::set<uint64_t> words{LoadShort(text.data(), size)};
    for (size_t i = 0; i < size; ++i) {
      text[i] = '#';
      EXPECT_TRUE(words.insert(LoadShort(text.data(), size)).second) << size << " " << i;
    }
  }
}

TEST(ShortBytes, HashInPlaceAsElsewhere) {
  for (size_t size = 0; size < 40; ++size)
    EXPECT_EQ(HashBytesHere(Text(size), 4), HashBytes(Text(size), 4));
}

}  // namespace
}  // namespace wf
