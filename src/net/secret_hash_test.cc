#include "net/secret_hash.h"

#include <gtest/gtest.h>

namespace wf::net {
namespace {

TEST(SecretHash, Sha256IsThatOfTheStandard) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(SecretHash, SecretsAreComparedWhole) {
  EXPECT_TRUE(SameSecret("secret", "secret"));
  for (const char* other : {"", "s", "secreT", "Secret", "secret2"})
    EXPECT_FALSE(SameSecret("secret", other)) << other;
}

TEST(SecretHash, APasswordMatchesItsOwnHashOnly) {
  const std::string stored = *HashPassword("correct horse");
  EXPECT_TRUE(CheckPasswordHash(stored).ok()) << stored;
  EXPECT_TRUE(PasswordMatches(stored, "correct horse"));
  EXPECT_FALSE(PasswordMatches(stored, "correct horsf"));
  EXPECT_FALSE(PasswordMatches(stored, ""));
  EXPECT_EQ(stored.find("horse"), std::string::npos);
  EXPECT_NE(stored, *HashPassword("correct horse"));  // salted
}

TEST(SecretHash, WhatIsNoHashOrCostsTooMuchIsRefused) {
  const std::string salt = "00112233445566778899aabbccddeeff", hash(64, 'a');
  EXPECT_TRUE(CheckPasswordHash("scrypt:12:8:1:" + salt + ":" + hash).ok());
  for (const std::string& bad :
       {std::string(), std::string("secret"), "scrypt:12:8:1:" + salt,
        "scrypt:30:8:1:" + salt + ":" + hash, "scrypt:20:64:1:" + salt + ":" + hash,
        "scrypt:12:0:1:" + salt + ":" + hash, "scrypt:12:8:1:zz:" + hash,
        "scrypt:12:8:1:" + salt + ":aa", "md5:12:8:1:" + salt + ":" + hash}) {
    EXPECT_FALSE(CheckPasswordHash(bad).ok()) << bad;
    EXPECT_FALSE(PasswordMatches(bad, "secret")) << bad;
  }
}

}  // namespace
}  // namespace wf::net
