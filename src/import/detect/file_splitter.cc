#include "import/detect/file_splitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "base/varint.h"
#include "import/detect/json_space.h"
#include "json/json_splitter.h"

namespace wf::detect {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr size_t kNone = std::string_view::npos;

// The last place, not behind `most`, where one JSON value ends a line and another begins the next. In valid JSON
// "}\n{" stands nowhere else: elements have a comma between them, and texts hold no line feed.
size_t LastLineBorder(std::string_view text, size_t most) {
  for (size_t end = std::min(most, text.size() - 1); end > 0; --end) {
    if (text[end - 1] != '\n' || (text[end] != '{' && text[end] != '[')) continue;
    size_t before = end - 1;
    if (before > 0 && text[before - 1] == '\r') --before;
    if (before > 0 && (text[before - 1] == '}' || text[before - 1] == ']')) return end;
  }
  return kNone;
}

size_t FirstLineBorder(std::string_view text, size_t from) {
  for (size_t at = text.find('\n', from); at != kNone; at = text.find('\n', at + 1)) {
    if (LastLineBorder(text.substr(0, std::min(text.size(), at + 2)), at + 1) == at + 1)
      return at + 1;
  }
  return kNone;
}

// Index behind the message that begins at `at`; none when it is not all there, or no ResourceSpans.
size_t ProtobufEnd(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] != 0x0A) return kNone;
  std::string_view behind = text.substr(at + 1);
  uint64_t length = 0;
  if (!TakeVarint(behind, length) || length > behind.size()) return kNone;
  return text.size() - behind.size() + length;
}

size_t FrameEnd(std::string_view text, size_t at) {
  if (text.size() - at < 4) return kNone;
  char prefix[8] = {0, 0, 0, 0, text[at], text[at + 1], text[at + 2], text[at + 3]};
  const uint64_t length = LoadBigEndian64(prefix);
  return length <= text.size() - at - 4 ? at + 4 + length : kNone;
}

}  // namespace

FileSplitter::FileSplitter(net::ChunkSource source, std::string name,
                           const FileSplitterOptions& options)
    : reader_(std::move(source)), name_(std::move(name)), options_(options) {}

// Reads until so much waits, or the file ends.
Status FileSplitter::Fill(size_t bytes) {
  while (!ended_ && text_.size() < bytes) {
    const size_t had = text_.size();
    text_.resize(had + kReadBytes);
    const auto got = reader_.Read(text_.data() + had, kReadBytes);
    text_.resize(had + (got.ok() ? *got : 0));
    if (!got.ok()) {
      return Error{got.error().code, fmt::format("{}: {}", name_, got.error().message),
                   got.error().hint};
    }
    ended_ = *got == 0;
  }
  return {};
}

std::string FileSplitter::Cut(size_t bytes) {
  std::string out = text_.substr(0, bytes);
  text_.erase(0, bytes);
  byte_ += out.size();
  line_ += static_cast<size_t>(std::count(out.begin(), out.end(), '\n'));
  return out;
}

FileContinuation FileSplitter::Here() const { return {format_, byte_, line_}; }

Error FileSplitter::TooLarge() const {
  return BadInput(fmt::format("{}: the record at byte {} (line {}) is larger than {} bytes, which "
                              "is more than a server accepts at once",
                              name_, byte_, line_ + 1, options_.most_bytes),
                  "stop the server and import the file into its directory");
}

Status FileSplitter::FindShape() {
  WF_TRY(Fill(options_.whole_bytes + 1));
  if (ended_) {
    shape_ = Shape::kWhole;
    return {};
  }
  WF_ASSIGN(format_, DetectFormat(text_, name_));
  if (format_ == ImportFormat::kOtlpProtobuf) {
    shape_ = Shape::kProtobuf;
  } else if (format_ == ImportFormat::kOtlpProtobufFile) {
    shape_ = Shape::kFrames;
  } else if (FirstLineBorder(text_, 0) != kNone) {
    shape_ = Shape::kLines;
  } else {
    const char* key = format_ == ImportFormat::kJaegerJson ? "data"
                      : format_ == ImportFormat::kOtlpJson ? "resourceSpans"
                                                           : nullptr;
    const size_t begin = std::min(text_.find('{'), text_.find('['));
    const bool object = begin < text_.size() && text_[begin] == '{';
    if (object && key == nullptr) return TooLarge();
    const size_t open = object ? FindArrayMember(text_, key) : begin;
    if (open >= text_.size()) return TooLarge();
    shape_ = Shape::kArray;
    prefix_ = object ? fmt::format("{{\"{}\":[", key) : "[";
    suffix_ = object ? "]}" : "]";
    Cut(open + 1);
  }
  return {};
}

Result<std::optional<FilePiece>> FileSplitter::NextLines() {
  std::optional<FilePiece> piece(std::in_place);
  if (byte_ != 0) piece->continues = Here();
  const auto border = [&]() -> size_t {
    if (shape_ == Shape::kLines) {
      const size_t last = LastLineBorder(text_, options_.piece_bytes);
      return last != kNone ? last : FirstLineBorder(text_, options_.piece_bytes);
    }
    size_t end = kNone;
    for (size_t at = 0; at < options_.piece_bytes;) {
      at = shape_ == Shape::kProtobuf ? ProtobufEnd(text_, at) : FrameEnd(text_, at);
      if (at == kNone || (end != kNone && at > options_.most_bytes)) break;
      end = at;
    }
    return end;
  };
  WF_TRY(Fill(options_.piece_bytes + 1));
  size_t end = text_.empty() ? kNone : border();
  if (end == kNone && !ended_) {
    WF_TRY(Fill(options_.most_bytes + 1));
    end = border();
  }
  if (end == kNone && ended_) end = text_.size();  // the last record, or what is no record
  if (end == kNone || end > options_.most_bytes) return TooLarge();
  piece->content = Cut(end);
  done_ = ended_ && text_.empty();
  return piece;
}

// Elements of the array, in an array of their own. What else a document holds, behind the array, is not records.
Result<std::optional<FilePiece>> FileSplitter::NextElements() {
  std::optional<FilePiece> piece(std::in_place);
  WF_TRY(Fill(options_.piece_bytes + 1));
  std::string elements;
  size_t at = 0;
  bool closed = false;
  while (at < options_.piece_bytes) {
    size_t begin = SkipSpace(text_, at);
    if (begin < text_.size() && text_[begin] == ',') begin = SkipSpace(text_, begin + 1);
    closed = begin < text_.size() && text_[begin] == ']';
    if (closed) break;
    size_t end = JsonValueEnd(text_, begin);
    if (end >= text_.size() && !ended_) {
      if (at != 0) break;  // the next piece begins with it
      WF_TRY(Fill(options_.most_bytes + 1));
      end = JsonValueEnd(text_, begin);
      if (end >= text_.size() && !ended_) return TooLarge();
    }
    if (begin >= text_.size()) {
      return BadInput(fmt::format("{}: JSON: expected ',' or ']' at byte {}", name_, byte_ + begin),
                      "check that the file is whole");
    }
    if (end > options_.most_bytes) {
      if (at != 0) break;
      return TooLarge();
    }
    elements += elements.empty() ? "" : ",";
    elements.append(text_, begin, end - begin);
    at = end;
  }
  Cut(at);
  piece->content = prefix_ + elements + suffix_;
  if (closed) {
    WF_TRY(EndArray());
    done_ = true;
    if (elements.empty()) return std::optional<FilePiece>();
  }
  return piece;
}

// Behind the array: the rest of its object ("total": 1 and the like), and nothing more.
Status FileSplitter::EndArray() {
  WF_TRY(Fill(kReadBytes));
  std::string rest = text_.substr(SkipSpace(text_, 0) + 1);
  if (suffix_ != "]") {
    const size_t comma = SkipSpace(rest, 0);
    if (comma < rest.size() && rest[comma] == ',') rest[comma] = ' ';
    rest = "{" + rest;
    rest.erase(0, JsonValueEnd(rest, 0));
  }
  if (ended_ && SkipSpace(rest, 0) == rest.size()) return {};
  return BadInput(
      fmt::format("{}: unexpected text after the array that ends at byte {}", name_, byte_),
      "stop the server and import the file into its directory");
}

Result<std::optional<FilePiece>> FileSplitter::Next() {
  if (done_) return std::optional<FilePiece>();
  if (shape_ == Shape::kUnknown) WF_TRY(FindShape());
  if (shape_ == Shape::kArray) return NextElements();
  if (shape_ != Shape::kWhole) return NextLines();
  done_ = true;
  return std::optional<FilePiece>(FilePiece{std::move(text_), std::nullopt});
}

}  // namespace wf::detect
