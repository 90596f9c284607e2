#include "net/keyed_hash.h"

#include <gtest/gtest.h>

namespace wf::net {
namespace {

TEST(KeyedHash, Rfc4231) {
  EXPECT_EQ(KeyedHash("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(KeyedHash(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

}  // namespace
}  // namespace wf::net
