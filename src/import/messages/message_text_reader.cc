#include "import/messages/message_text_reader.h"

#include <cstring>

#include "import/messages/message_text.h"

namespace wf::messages {
namespace {

constexpr size_t kFirstBuffer = 256 * 1024;
// Longer than any line that means something; a binary file without a line feed must not fill the memory.
constexpr size_t kLongestLine = 4 * 1024 * 1024;

}  // namespace

MessageTextReader::MessageTextReader(net::ChunkSource source, std::string name,
                                     const MessageTextOptions& options, StringTable& nodes)
    : source_(std::move(source)),
      name_(std::move(name)),
      options_(options),
      nodes_(nodes),
      buffer_(kFirstBuffer) {}

// Moves what is left to the front and reads once.
Status MessageTextReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const auto got = source_(buffer_.data() + end_, buffer_.size() - end_);
  if (!got.ok()) {
    return Error{got.error().code, name_ + ": " + got.error().message, got.error().hint};
  }
  ended_ = *got == 0;
  end_ += *got;
  return {};
}

Result<bool> MessageTextReader::NextLine(std::string_view& line) {
  size_t searched = 0;
  while (true) {
    const char* begin = buffer_.data() + begin_;
    const auto* feed =
        static_cast<const char*>(std::memchr(begin + searched, '\n', end_ - begin_ - searched));
    if (feed != nullptr) {
      line = {begin, static_cast<size_t>(feed - begin)};
      begin_ += line.size() + 1;
      return true;
    }
    if (ended_) {  // a last line without a line feed
      line = {begin, end_ - begin_};
      begin_ = end_;
      return !line.empty();
    }
    searched = end_ - begin_;
    if (searched >= kLongestLine) {  // what is known of it goes; its end is still looked for
      overlong_ = true;
      begin_ = end_;
      searched = 0;
    }
    WF_TRY(Fill());
  }
}

NodeId MessageTextReader::NodeOf(std::string_view name) {
  const size_t slot = (name.size() * 131 + static_cast<unsigned char>(name.front()) * 31 +
                       static_cast<unsigned char>(name.back()) * 7 +
                       static_cast<unsigned char>(name[name.size() / 2])) %
                      recent_.size();
  if (nodes_.At(recent_[slot]) != name) recent_[slot] = nodes_.Intern(name);  // 0 is the empty name
  return recent_[slot];
}

Result<bool> MessageTextReader::Next(SightingLine& out) {
  MessageFields fields;
  while (true) {
    std::string_view line;
    WF_ASSIGN(const bool more, NextLine(line));
    if (!more && !overlong_) return false;
    ++lines_;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (lines_ == 1 && line.substr(0, 3) == kByteOrderMark) line.remove_prefix(3);
    LineKind kind = LineKind::kMalformed;
    if (overlong_) {
      overlong_ = false;
      fault_ = "longer than any line of message text";
    } else {
      kind = ParseMessageLine(line, fields, fault_);
    }
    if (kind == LineKind::kNothing) continue;
    if (kind == LineKind::kSighting) break;
    ++malformed_;
    std::string fault = name_ + ":" + std::to_string(lines_) + ": " + fault_;
    if (options_.on_malformed == OnMalformed::kFail) {
      return BadInput(std::move(fault),
                      "docs/reference/messages.md has the format; --lenient skips such lines");
    }
    if (first_fault_.empty()) first_fault_ = std::move(fault);
  }
  Sighting& s = out.sighting;
  s.time_ns = fields.time_ns;
  s.place = {options_.input, lines_};
  s.sender = NodeOf(fields.sender);
  s.receiver = NodeOf(fields.receiver);
  s.kind = fields.kind;
  s.by = fields.by;
  s.id = fields.id == "-" ? 0 : KeyOf(fields.id);
  s.thread = s.conn = s.path = 0;
  s.bytes = -1;
  if (!fields.keys.empty()) ReadMessageKeys(fields.keys, s);
  if (options_.texts == LineTexts::kKeep) {
    out.id.assign(fields.id);
    out.keys.assign(fields.keys);
  }
  return true;
}

}  // namespace wf::messages
