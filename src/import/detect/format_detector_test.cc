#include "import/detect/format_detector.h"

#include <gtest/gtest.h>

#include "net/compression.h"

namespace wf::detect {
namespace {

FileKind KindOf(std::string_view head, HeadExtent extent = HeadExtent::kWholeFile) {
  return DetectFile(head, extent, "f").kind;
}

TEST(DetectFile, KindsByTheirBeginning) {
  EXPECT_EQ(KindOf(""), FileKind::kEmpty);
  EXPECT_EQ(KindOf(" \n\n"), FileKind::kEmpty);
  EXPECT_EQ(KindOf("\xD4\xC3\xB2\xA1\x02"), FileKind::kCapture);
  EXPECT_EQ(KindOf("\x0A\x0D\x0D\x0A"), FileKind::kCapture);
  EXPECT_EQ(KindOf("From shop@example.com Mon\n"), FileKind::kMail);
  EXPECT_EQ(KindOf("\nReceived: from a by b\n"), FileKind::kMail);
  EXPECT_EQ(KindOf("1.5 CALL web db 7\n"), FileKind::kMessageText);
  EXPECT_EQ(KindOf("# a comment\n1.5 CALL web db 7\n"), FileKind::kMessageText);
  EXPECT_EQ(KindOf("WFEV\x01"), FileKind::kEvents);
  EXPECT_EQ(KindOf("{\"resourceSpans\":[]}"), FileKind::kEvents);
  EXPECT_EQ(KindOf("\xEF\xBB\xBF{\"resourceSpans\":[]}"), FileKind::kEvents);
  EXPECT_EQ(KindOf("{\"shop\":1}"), FileKind::kOther);
  EXPECT_EQ(KindOf(std::string_view("ab\0cd", 5)), FileKind::kOther);
}

TEST(DetectFile, ProtobufWithoutAZeroByteIsNotText) {
  // resource_spans { scope_spans { spans.
  const std::string spans = "\x0A\x09\x12\x07\x12\x05\x1A\x03get";
  EXPECT_EQ(KindOf(spans), FileKind::kEvents);
  // Cut off, only the beginning of a longer file can be protobuf.
  const std::string_view cut = std::string_view(spans).substr(0, 6);
  EXPECT_EQ(KindOf(cut, HeadExtent::kBeginning), FileKind::kEvents);
  EXPECT_EQ(KindOf(cut, HeadExtent::kWholeFile), FileKind::kMessageText);
  // A short line behind an empty one has the same form.
  EXPECT_EQ(KindOf("\n#\n1.5 CALL web db 7\n"), FileKind::kMessageText);
}

TEST(DetectFile, ContentMayBeCompressed) {
  const std::string packed = net::Compress(net::Compression::kGzip, "1.5 CALL web db 7\n");
  const auto found = DetectContent(packed, "f");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->holds_messages());
  EXPECT_FALSE(DetectContent(packed.substr(0, packed.size() / 2), "f").ok());
}

}  // namespace
}  // namespace wf::detect
