#include "client/tracer/baggage_header.h"

#include <utility>

#include "client/queries/thread_baggage.h"

namespace wherefore::client {
namespace {

// baggage-octet of the recommendation.
bool ValueChar(char c) {
  return c > 0x20 && c < 0x7F && c != '"' && c != ',' && c != ';' && c != '\\';
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool TokenChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool SplitBaggage(std::string_view member, std::string_view& key, std::string_view& value) {
  const std::string_view entry = member.substr(0, member.find(';'));
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return false;
  key = Trim(entry.substr(0, equals));
  value = Trim(entry.substr(equals + 1));
  if (key.empty()) return false;
  for (char c : key) {
    if (!TokenChar(c)) return false;
  }
  for (char c : value) {
    if (!ValueChar(c)) return false;
  }
  return true;
}

bool ValidBaggage(std::string_view text) {
  if (text.size() > kMaxBaggageHeader) return false;
  int members = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view member = text.substr(0, comma);
    std::string_view key, value;
    if (!SplitBaggage(member, key, value) || ++members > kMaxBaggageMembers) return false;
    for (char c : member) {  // properties travel on as they are, but must not end the header
      if ((c < 0x20 && c != '\t') || c == 0x7F) return false;
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return true;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [](char c) {
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(digit(text[i + 1]) << 4 | digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string PercentEncode(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (ValueChar(c) && c != '%') {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back("0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4]);
      out.push_back("0123456789ABCDEF"[static_cast<unsigned char>(c) & 15]);
    }
  }
  return out;
}

std::shared_ptr<const BaggageSnapshot> TakeOwnMembers(std::string& header) {
  if (header.find(kBaggageMember) == std::string::npos) return nullptr;
  HeaderTexts texts;
  std::string others;
  std::string_view text = header;
  bool found = false;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view member = Trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    std::string_view name, value;
    SplitBaggage(member, name, value);
    std::string* const own = name == kBaggageMember    ? &texts.first
                             : name == kBaggageMember2 ? &texts.second
                                                       : nullptr;
    if (own == nullptr) {
      others.append(others.empty() ? "" : ",").append(member);
      continue;
    }
    found = true;
    if (own->empty()) *own = std::string(value);
  }
  if (!found) return nullptr;
  header = std::move(others);
  if (!ExchangesBaggage()) {
    CountRefused();
    return nullptr;
  }
  return BaggageSnapshot::FromTexts(std::move(texts));
}

namespace {

template <typename Baggage>
std::string Compose(const std::string& others, Baggage* baggage) {
  if (baggage == nullptr || !ExchangesBaggage()) return others;
  int members = others.empty() ? 0 : 1;
  for (const char c : others) members += c == ',';
  const size_t taken = others.empty() ? 0 : others.size() + 1;
  const size_t room = taken < kMaxBaggageHeader ? kMaxBaggageHeader - taken : 0;
  const HeaderTexts own = baggage->Header(room, kMaxBaggageMembers - members);
  if (own.empty()) return others;
  std::string header;
  header.reserve(taken + own.size());
  header.append(others).append(others.empty() ? "" : ",");
  header.append(kBaggageMember).append("=").append(own.first);
  if (!own.second.empty())
    header.append(",").append(kBaggageMember2).append("=").append(own.second);
  return header;
}

}  // namespace

std::string WithOwnMembers(const std::string& others, const BaggageSnapshot* baggage) {
  return Compose(others, baggage);
}
std::string WithOwnMembers(const std::string& others, BaggageLine* baggage) {
  return Compose(others, baggage);
}

}  // namespace wherefore::client
