#include "net/compression.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "net/decoding_reader.h"

namespace wf::net {
namespace {

std::string Sample(size_t size, int alphabet) {
  std::mt19937 random(size * 31 + alphabet);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random() % alphabet);
  return text;
}

const Compression kFormats[] = {Compression::kIdentity, Compression::kGzip, Compression::kDeflate,
                                Compression::kZstd};

TEST(Compression, RoundTripsEverySizeAtEveryExactLimit) {
  for (Compression format : kFormats) {
    for (size_t size : {0, 1, 63, 64, 65, 4095, 4096, 4097, 160'000, 3'000'000}) {
      for (int alphabet : {2, 256}) {
        std::string plain = Sample(size, alphabet);
        std::string packed = Compress(format, plain);
        Result<std::string> back = Decompress(format, packed, size);
        ASSERT_TRUE(back.ok()) << CompressionName(format) << size << back.error().message;
        EXPECT_EQ(*back, plain);
        if (size == 0) continue;
        EXPECT_FALSE(Decompress(format, packed, size - 1).ok()) << size;
      }
    }
  }
}

TEST(Compression, BombIsRefusedAndNamesTheLimit) {
  for (Compression format : {Compression::kGzip, Compression::kDeflate, Compression::kZstd}) {
    std::string bomb = Compress(format, std::string(64 << 20, 'x'));
    EXPECT_LT(bomb.size(), 400'000u);
    Result<std::string> result = Decompress(format, bomb, 1'000'000);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
    EXPECT_NE(result.error().message.find("limit of 1000000 bytes"), std::string::npos)
        << result.error().message;
    std::string out;
    std::string reason;
    EXPECT_EQ(Decompress(format, bomb, 1'000'000, &out, &reason), DecodeOutcome::kTooLarge);
    EXPECT_EQ(out.capacity(), std::string().capacity());
  }
}

TEST(Compression, EveryTruncationIsRefused) {
  std::string plain = Sample(500, 20);
  for (Compression format : {Compression::kGzip, Compression::kDeflate, Compression::kZstd}) {
    std::string packed = Compress(format, plain);
    for (size_t size = 0; size < packed.size(); ++size) {
      EXPECT_FALSE(Decompress(format, std::string_view(packed).substr(0, size), 1 << 20).ok())
          << CompressionName(format) << " " << size;
    }
  }
}

TEST(Compression, DamageIsRefusedAndDoesNotPoisonTheNextBody) {
  std::string plain = Sample(5000, 20);
  for (Compression format : {Compression::kGzip, Compression::kZstd}) {
    std::string packed = Compress(format, plain);
    std::string damaged = packed;
    damaged[damaged.size() / 2] ^= 0x55;
    damaged[damaged.size() / 2 + 1] ^= 0x55;
    Result<std::string> bad = Decompress(format, damaged, 1 << 20);
    // zstd frames carry no checksum by default: damage may pass as other bytes, but never as these.
    EXPECT_TRUE(!bad.ok() || *bad != plain);
    EXPECT_FALSE(Decompress(format, "garbage, not compressed", 1 << 20).ok());
    EXPECT_EQ(*Decompress(format, packed, 1 << 20), plain);
  }
  EXPECT_FALSE(
      Decompress(Compression::kGzip, Compress(Compression::kGzip, plain) + "x", 1 << 20).ok());
}

TEST(Compression, MembersInARowAreOneBody) {
  for (Compression format : {Compression::kGzip, Compression::kZstd}) {
    std::string packed =
        Compress(format, "one,") + Compress(format, "two,") + Compress(format, "three");
    EXPECT_EQ(*Decompress(format, packed, 100), "one,two,three");
  }
}

TEST(Compression, BareDeflateIsUnderstood) {
  std::string zlib = Compress(Compression::kDeflate, "hello hello hello");
  std::string bare = zlib.substr(2, zlib.size() - 6);
  EXPECT_EQ(*Decompress(Compression::kDeflate, bare, 100), "hello hello hello");
}

TEST(Compression, ThreadsDoNotShareState) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      std::string plain = Sample(20'000 + t, 50);
      for (int i = 0; i < 50; ++i) {
        for (Compression format : kFormats) {
          Result<std::string> back = Decompress(format, Compress(format, plain), 1 << 20);
          if (!back.ok() || *back != plain) ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Compression, DetectsByMagic) {
  EXPECT_EQ(DetectCompression(Compress(Compression::kGzip, "x")), Compression::kGzip);
  EXPECT_EQ(DetectCompression(Compress(Compression::kZstd, "x")), Compression::kZstd);
  EXPECT_EQ(DetectCompression("{\"resourceSpans\":[]}"), Compression::kIdentity);
  EXPECT_EQ(DetectCompression(""), Compression::kIdentity);
  EXPECT_FALSE(CompressionFromName("br").has_value());
}

// Gives the data in pieces of at most `piece` bytes.
ChunkSource InPieces(const std::string& data, size_t piece) {
  return [&data, piece, at = size_t{0}](char* buffer, size_t size) mutable -> Result<size_t> {
    size_t take = std::min({size, piece, data.size() - at});
    data.copy(buffer, take, at);
    at += take;
    return take;
  };
}

Result<std::string> ReadAll(DecodingReader& reader, size_t piece) {
  std::string all;
  std::string buffer(piece, '\0');
  while (true) {
    WF_ASSIGN(size_t got, reader.Read(buffer.data(), buffer.size()));
    if (got == 0) return all;
    all.append(buffer, 0, got);
  }
}

TEST(DecodingReader, ReadsEveryFormatInAnyPieces) {
  std::string plain = Sample(700'000, 30);
  for (Compression format : {Compression::kIdentity, Compression::kGzip, Compression::kZstd}) {
    std::string packed = Compress(format, plain);
    if (format != Compression::kIdentity) packed += Compress(format, "tail");
    std::string expected = format == Compression::kIdentity ? plain : plain + "tail";
    for (size_t in : {size_t{3}, size_t{1000}, packed.size()}) {
      for (size_t out : {size_t{977}, size_t{1} << 20}) {
        DecodingReader reader(InPieces(packed, in));
        Result<std::string> back = ReadAll(reader, out);
        ASSERT_TRUE(back.ok()) << back.error().message;
        EXPECT_EQ(*back, expected);
        EXPECT_EQ(reader.compression(), format);
        EXPECT_EQ(reader.bytes_consumed(), packed.size());
      }
    }
  }
}

TEST(DecodingReader, CutFilesAreErrorsAndStayErrors) {
  for (Compression format : {Compression::kGzip, Compression::kZstd}) {
    std::string packed = Compress(format, Sample(3000, 20));
    for (size_t size = 4; size < packed.size(); size += 7) {
      std::string cut = packed.substr(0, size);
      DecodingReader reader(InPieces(cut, 100));
      ASSERT_FALSE(ReadAll(reader, 512).ok()) << CompressionName(format) << " " << size;
      char c;
      EXPECT_FALSE(reader.Read(&c, 1).ok());
    }
  }
  std::string empty;
  DecodingReader reader(InPieces(empty, 1));
  EXPECT_EQ(*ReadAll(reader, 10), "");
}

TEST(DecodingReader, PassesErrorsOfTheSource) {
  DecodingReader reader(
      [](char*, size_t) -> Result<size_t> { return EnvironmentError("disk gone"); });
  char c;
  EXPECT_EQ(reader.Read(&c, 1).error().message, "disk gone");
}

}  // namespace
}  // namespace wf::net
