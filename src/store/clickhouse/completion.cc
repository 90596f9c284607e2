// What there is to ask for: services, operations, attribute keys and values.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/clickhouse/store_impl.h"

namespace wf::store::clickhouse {
namespace {

Result<std::vector<std::string>> Texts(Result<std::string> answer) {
  if (!answer.ok()) return answer.error();
  std::vector<std::string> out;
  clickhouse::RowReader reader(*answer);
  while (reader.more()) out.emplace_back(reader.Text());
  WF_TRY(reader.status());
  return out;
}

// Two sorted lists of distinct texts as one, at most `limit` long.
std::vector<std::string> Merged(std::vector<std::string> a, const std::vector<std::string>& b,
                                size_t limit) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  if (a.size() > limit) a.resize(limit);
  return a;
}

// The first texts of an expression, by bytes, as both sides compare them.
std::string FirstTexts(const std::string& expression, const std::string& table,
                       const std::string& where, std::string_view prefix, size_t limit) {
  return fmt::format(
      "SELECT DISTINCT t FROM (SELECT {} AS t FROM {} WHERE {}) WHERE startsWith(t, {}) ORDER BY t "
      "LIMIT {} FORMAT RowBinary",
      expression, table, where, clickhouse::Quote(prefix), limit);
}

}  // namespace

Result<std::vector<std::string>> ClickhouseStore::Services(const std::string& tenant) {
  return Texts(client_.AskAny(
      "reading services",
      fmt::format("SELECT DISTINCT title FROM {} WHERE tenant = {} AND kind = {} AND title != '' "
                  "ORDER BY title FORMAT RowBinary",
                  names_.All("origins"), clickhouse::Quote(tenant),
                  static_cast<int>(clickhouse::OriginKind::kProcess))));
}

Result<std::vector<Store::Operation>> ClickhouseStore::Operations(const std::string& tenant,
                                                                  const std::string& service) {
  WF_ASSIGN(const std::string answer,
            client_.AskAny("reading operations",
                           fmt::format("SELECT DISTINCT name, kind FROM {} WHERE tenant = {} AND "
                                       "service = {} FORMAT RowBinary",
                                       names_.All("operations"), clickhouse::Quote(tenant),
                                       clickhouse::Quote(service))));
  std::set<Operation> out;
  clickhouse::RowReader reader(answer);
  while (reader.more()) {
    std::string name(reader.Text());
    out.insert({std::move(name), static_cast<SpanKind>(reader.Number<uint8_t>())});
  }
  WF_TRY(reader.status());
  return std::vector<Operation>(out.begin(), out.end());
}

Result<std::vector<std::string>> ClickhouseStore::AttributeKeys(const std::string& tenant,
                                                                std::string_view prefix,
                                                                size_t limit) {
  if (limit == 0) return std::vector<std::string>();
  const std::string mine = "tenant = " + clickhouse::Quote(tenant);
  WF_ASSIGN(
      std::vector<std::string> own,
      Texts(client_.AskAny("reading attribute keys",
                           FirstTexts("key", names_.All("attribute_keys"), mine, prefix, limit))));
  WF_ASSIGN(const std::vector<std::string> shared,
            Texts(client_.AskAny(
                "reading attribute keys",
                FirstTexts("arrayJoin(attr_keys)", names_.All("origins"), mine, prefix, limit))));
  return Merged(std::move(own), shared, limit);
}

Result<std::vector<std::string>> ClickhouseStore::AttributeValues(const std::string& tenant,
                                                                  const std::string& key,
                                                                  std::string_view prefix,
                                                                  size_t limit) {
  if (limit == 0) return std::vector<std::string>();
  const std::string where = fmt::format("tenant = {} AND has(attr_keys, {})",
                                        clickhouse::Quote(tenant), clickhouse::Quote(key));
  const std::string values = fmt::format(
      "arrayJoin(arrayFilter((v, k) -> k = {}, attr_texts, attr_keys))", clickhouse::Quote(key));
  WF_ASSIGN(std::vector<std::string> own,
            Texts(client_.AskAny("reading attribute values",
                                 FirstTexts(values, names_.All("events"), where, prefix, limit))));
  WF_ASSIGN(const std::vector<std::string> shared,
            Texts(client_.AskAny("reading attribute values",
                                 FirstTexts(values, names_.All("origins"), where, prefix, limit))));
  return Merged(std::move(own), shared, limit);
}

}  // namespace wf::store::clickhouse
