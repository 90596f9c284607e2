#include "store/clickhouse/sql_text.h"

#include "base/utf8.h"

namespace wf::store::clickhouse {
namespace {

std::string Joined(const std::vector<std::string>& texts, char open, char close) {
  std::string out(1, open);
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += Quote(text);
  }
  return out + close;
}

std::string Escaped(std::string_view text, char quote) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(1, quote);
  // What is between us and the server may look at a statement as text.
  const bool bytes = !IsUtf8(text);
  for (const char c : text) {
    if (bytes && static_cast<uint8_t>(c) >= 0x80) {
      out += {'\\', 'x', kDigits[static_cast<uint8_t>(c) >> 4], kDigits[c & 15]};
      continue;
    }
    if (c == '\0') {
      out += "\\0";  // the server's lexer takes a bare one for the query's end
      continue;
    }
    if (c == '\\' || c == quote) out += '\\';
    out += c;
  }
  return out + quote;
}

}  // namespace

std::string Quote(std::string_view text) { return Escaped(text, '\''); }
std::string QuoteName(std::string_view name) { return Escaped(name, '`'); }
std::string QuoteList(const std::vector<std::string>& texts) { return Joined(texts, '(', ')'); }
std::string QuoteArray(const std::vector<std::string>& texts) { return Joined(texts, '[', ']'); }

std::string WhereTraces(std::string_view tenant, const std::vector<TraceId>& ids) {
  std::string list;
  for (const TraceId& id : ids) {
    list += (list.empty() ? "(" : ",(") + std::to_string(id.hi) + "," + std::to_string(id.lo) + ")";
  }
  return ids.size() == 1
             ? "PREWHERE trace_lo = " + std::to_string(ids[0].lo) +
                   " AND trace_hi = " + std::to_string(ids[0].hi) +
                   " WHERE tenant = " + Quote(tenant)
             : "PREWHERE (trace_hi, trace_lo) IN (" + list + ") WHERE tenant = " + Quote(tenant);
}

}  // namespace wf::store::clickhouse
