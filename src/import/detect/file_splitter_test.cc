// A file imported piece by piece gives what it gives as a whole.
#include "import/detect/file_splitter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/ids.h"
#include "import/decode/batch_dump.h"
#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_encoder.h"
#include "net/compression.h"

namespace wf::detect {
namespace {

constexpr FileSplitterOptions kSmall{1000, 2000, 6000};

struct Imported {
  std::multiset<std::pair<uint64_t, uint64_t>> spans;  // trace, id
  decode::DecodeReport report;
  std::string first_fault;
};

Status ImportInto(const FilePiece& piece, Imported& out) {
  ImportOptions options;
  options.continues = piece.continues;
  const auto result = ImportBytes(piece.content, "f", options, [&](EventBatch&& batch) -> Status {
    for (size_t i = 0; i < batch.size(); ++i) out.spans.emplace(batch.trace_lo[i], batch.id1[i]);
    return {};
  });
  if (!result.ok()) return result.error();
  out.report.Add(result->report);
  if (out.first_fault.empty()) out.first_fault = result->first_fault;
  return {};
}

FileSplitter Split(const std::string& content, const FileSplitterOptions& options, size_t& at) {
  return FileSplitter(
      [&content, &at](char* buffer, size_t size) -> Result<size_t> {
        const size_t n = std::min(size, content.size() - at);
        std::copy_n(content.data() + at, n, buffer);
        at += n;
        return n;
      },
      "f", options);
}

// Returns how many pieces there were.
size_t SameInPieces(const std::string& content) {
  Imported whole, pieces;
  EXPECT_TRUE(ImportInto({content, std::nullopt}, whole).ok());
  size_t at = 0, n = 0;
  FileSplitter splitter = Split(content, kSmall, at);
  while (true) {
    const auto piece = splitter.Next();
    EXPECT_TRUE(piece.ok()) << (piece.ok() ? "" : piece.error().message);
    if (!piece.ok() || !*piece) break;
    ++n;
    EXPECT_LE((*piece)->content.size(), kSmall.most_bytes);
    const Status status = ImportInto(**piece, pieces);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  }
  EXPECT_GT(whole.spans.size(), 0u);
  EXPECT_EQ(pieces.spans, whole.spans);
  EXPECT_EQ(decode::DumpReport(pieces.report), decode::DumpReport(whole.report));
  EXPECT_EQ(pieces.first_fault, whole.first_fault);
  return n;
}

std::string OtlpResource(int n) {
  return fmt::format(
      R"({{"resource":{{}},"scopeSpans":[{{"spans":[{{"traceId":"{:032x}","spanId":"{:016x}",)"
      R"("name":"a]}}{{[","startTimeUnixNano":"1","endTimeUnixNano":"2"}}]}}]}})",
      n / 3 + 1, n + 1);
}
std::string ZipkinSpan(int n) {
  return fmt::format(R"({{"traceId":"{:x}","id":"{:x}","name":"x","timestamp":{},"duration":5}})",
                     n / 3 + 1, n + 1, 1000000 + n);
}

TEST(FileSplitter, JsonLines) {
  std::string text;
  for (int n = 0; n < 100; ++n) text += "{\"resourceSpans\":[" + OtlpResource(n) + "]}\n";
  EXPECT_GT(SameInPieces(text), 10u);
}

TEST(FileSplitter, FaultsAreCountedAndPlacedAsInTheWholeFile) {
  for (const char* bad :
       {"{\"resourceSpans\": \"open", "{]", "}{", "garbage", "{\"resourceSpans\":[{]}"}) {
    std::string text;
    for (int n = 0; n < 100; ++n) {
      text += "{\"resourceSpans\":[" + OtlpResource(n) + "]}\n";
      if (n % 20 == 13) text += std::string(bad) + "\n";
    }
    EXPECT_GT(SameInPieces(text), 5u) << bad;
  }
}

TEST(FileSplitter, PrettyPrintedValuesOneAfterAnother) {
  std::string text;
  for (int n = 0; n < 60; ++n)
    text += "{\r\n \"resourceSpans\": [\r\n" + OtlpResource(n) + ",\r\n" + OtlpResource(1000 + n) +
            "]\r\n}\r\n";
  EXPECT_GT(SameInPieces(text), 5u);
}

TEST(FileSplitter, ElementsOfOneLargeArray) {
  std::string zipkin = "\n[\n", otlp = "{ \"resourceSpans\" : [",
              jaeger = "{\"total\":0,\"data\":[";
  for (int n = 0; n < 120; ++n) {
    zipkin += (n == 0 ? "" : ",\n") + ZipkinSpan(n);
    otlp += (n == 0 ? "" : " , ") + OtlpResource(n);
    jaeger +=
        (n == 0 ? "" : ",") +
        fmt::format(
            R"({{"traceID":"{0:x}","spans":[{{"traceID":"{0:x}","spanID":"{0:x}","operationName":"o","references":[],)"
            R"("startTime":5,"duration":6,"tags":[],"logs":[],"processID":"p1"}}],"processes":{{"p1":{{"serviceName":"s","tags":[]}}}}}})",
            n + 1);
  }
  EXPECT_GT(SameInPieces(zipkin + "\n]\n"), 5u);
  EXPECT_GT(SameInPieces(otlp + "]}"), 5u);
  EXPECT_GT(SameInPieces(jaeger + "],\"limit\":0,\"errors\":null}\n"), 5u);
}

TEST(FileSplitter, Protobuf) {
  std::string plain, framed;
  for (int n = 0; n < 100; ++n) {
    EventBatch batch;
    decode::DecodeReport report;
    ASSERT_TRUE(
        otlp::DecodeOtlpJson("{\"resourceSpans\":[" + OtlpResource(n) + "]}", {}, batch, report)
            .ok());
    std::string one;
    otlp::EncodeOtlpProtobuf(batch, {0}, one);
    plain += one;
    char length[8];
    StoreBigEndian64(one.size(), length);
    framed += std::string(length + 4, 4) + one;
  }
  EXPECT_GT(SameInPieces(plain), 3u);
  EXPECT_GT(SameInPieces(framed), 3u);
}

TEST(FileSplitter, ASmallFileIsOnePieceAsItIs) {
  const std::string text = "[" + ZipkinSpan(1) + "]";
  size_t at = 0;
  FileSplitter splitter = Split(text, kSmall, at);
  const auto piece = splitter.Next();
  ASSERT_TRUE(piece.ok() && *piece);
  EXPECT_EQ((*piece)->content, text);
  EXPECT_FALSE((*piece)->continues.has_value());
  EXPECT_FALSE(splitter.Next()->has_value());
}

TEST(FileSplitter, WhatCannotBeSplitIsAnErrorThatSaysSo) {
  const std::string long_name(9000, 'x');
  for (const std::string& text :
       {"[{\"traceId\":\"1\",\"id\":\"1\",\"name\":\"" + long_name + "\"}]",
        "[" + ZipkinSpan(1) + std::string(3000, ' ') + "] [" + ZipkinSpan(2) + "]",
        "[" + ZipkinSpan(1) + std::string(3000, ' ')}) {
    size_t at = 0;
    FileSplitter splitter = Split(text, kSmall, at);
    bool failed = false;
    while (!failed) {
      const auto piece = splitter.Next();
      failed = !piece.ok();
      if (piece.ok() && !*piece) break;
    }
    EXPECT_TRUE(failed) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace wf::detect
