#include "import/mail/mail_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wf::mail {
namespace {

constexpr size_t kPiece = 256 * 1024;
// No server writes longer ones; a file that is not a mailbox must not fill the memory.
constexpr size_t kLongestLine = 1024 * 1024, kLongestHeader = 64 * 1024, kMostHops = 1000;

bool HeaderIs(std::string_view header, std::string_view lower_name, std::string_view& value) {
  if (header.size() <= lower_name.size()) return false;
  for (size_t i = 0; i < lower_name.size(); ++i) {
    const char c = header[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != lower_name[i]) return false;
  }
  size_t at = lower_name.size();
  while (at < header.size() && (header[at] == ' ' || header[at] == '\t')) ++at;
  if (at == header.size() || header[at] != ':') return false;
  value = header.substr(at + 1);
  return true;
}

// Between its angle brackets; without them the first word. Only what can stand in message text.
std::string MessageIdOf(std::string_view value) {
  const size_t open = value.find('<');
  if (open != std::string_view::npos) value.remove_prefix(open + 1);
  value = value.substr(0, std::min(value.find('>'), value.size()));
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ') {
      if (!out.empty() && open == std::string_view::npos) break;
      continue;
    }
    out += byte < 0x7F ? c : '?';
  }
  return out == "-" ? std::string() : out;
}

}  // namespace

MailReader::MailReader(net::ChunkSource source, std::string name, uint32_t input,
                       StringTable& nodes)
    : source_(std::move(source)), name_(std::move(name)), input_(input), nodes_(nodes) {}

// Without its line end. Overlong lines come as nothing but their first part.
Result<bool> MailReader::NextLine(std::string_view& line) {
  size_t searched = 0;
  while (true) {
    const size_t feed = buffer_.find('\n', begin_ + searched);
    if (feed != std::string::npos || ended_) {
      const size_t end = feed != std::string::npos ? feed : buffer_.size();
      if (feed == std::string::npos && begin_ == end) return false;
      line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = std::min(end + 1, buffer_.size());
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      overlong_ = false;
      return true;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.size() > kLongestLine) {
      if (!std::exchange(overlong_, true)) ++counts_.overlong;
      buffer_.resize(1);
    }
    searched = buffer_.size();
    buffer_.resize(searched + kPiece);
    const auto got = source_(buffer_.data() + searched, kPiece);
    buffer_.resize(searched + (got.ok() ? *got : 0));
    if (!got.ok()) {
      return Error{got.error().code, name_ + ": " + got.error().message, got.error().hint};
    }
    ended_ = *got == 0;
  }
}

void MailReader::TakeHeader() {
  std::string_view value;
  if (HeaderIs(header_, "received", value)) {
    ++counts_.headers;
    ReceivedHop hop;
    switch (hops_.size() < kMostHops ? ParseReceived(value, hop) : ReceivedFault::kNoHosts) {
      case ReceivedFault::kNone:
        hops_.push_back(std::move(hop));
        break;
      case ReceivedFault::kNoHosts:
        ++counts_.no_hosts;
        break;
      case ReceivedFault::kGenericHost:
        ++counts_.generic_host;
        break;
      case ReceivedFault::kNoTime:
        ++counts_.no_time;
        break;
    }
  } else if (message_id_.empty() && HeaderIs(header_, "message-id", value)) {
    message_id_ = MessageIdOf(value);
  }
  header_.clear();
}

Status MailReader::ReadMail() {
  message_id_.clear();
  bool any = false;
  std::string_view line;
  while (true) {
    WF_ASSIGN(const bool more, NextLine(line));
    if (!more) break;
    // A mail begins with `From ` behind an empty line; within a body it is written as `>From `. Among headers it can be
    // nothing else, so boxes of headers alone need no empty lines.
    if ((blank_before_ || part_ == Part::kHeaders) && line.substr(0, 5) == "From ") {
      if (part_ == Part::kHeaders && any) break;  // headers without a body; this line is skipped
      part_ = Part::kHeaders;
      blank_before_ = false;
      continue;
    }
    blank_before_ = line.empty();
    if (part_ == Part::kBody) continue;
    if (line.empty()) {
      if (!any) continue;  // empty lines before the first header
      part_ = Part::kBody;
      break;
    }
    any = true;
    if (line[0] == ' ' || line[0] == '\t') {
      if (header_.size() + line.size() < kLongestHeader) header_ += line;
      continue;
    }
    TakeHeader();
    header_ = line.substr(0, kLongestHeader);
  }
  TakeHeader();
  if (any) ++counts_.mails;
  return {};
}

Result<bool> MailReader::Next(SightingLine& line) {
  while (hops_.empty()) {
    if (ended_ && begin_ == buffer_.size()) return false;
    WF_TRY(ReadMail());
  }
  const ReceivedHop hop = std::move(hops_.back());
  hops_.pop_back();
  Sighting& s = line.sighting;
  s = Sighting{};
  s.time_ns = hop.time_ns;
  s.place = {input_, ++given_};
  s.sender = nodes_.Intern(hop.from);
  s.receiver = nodes_.Intern(hop.by);
  s.kind = MessageKind::kMessage;
  if (message_id_.empty()) {
    line.id = "-";
    line.keys.clear();
  } else {
    line.id = message_id_;
    line.keys = "path=" + message_id_;
    s.id = s.path = KeyOf(message_id_);
  }
  return true;
}

}  // namespace wf::mail
