// What there is to ask for: services, operations, attribute keys and values; the clock exchanges; the status.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_set>

#include "store/duckdb/store_impl.h"
#include "store/match.h"

namespace wf::store::duckdb {
namespace {

template <typename Visit>
void ForEachAttribute(std::string_view packed, Visit&& visit) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) visit(key, value);
}

// Attributes of the processes and scopes of a batch or a dictionary.
template <typename Visit>
void ForEachShared(const EventBatch& b, Visit&& visit) {
  for (const Process& p : b.processes) ForEachAttribute(b.Slice(p.attrs_begin, p.attrs_end), visit);
  for (const Scope& s : b.scopes) ForEachAttribute(b.Slice(s.attrs_begin, s.attrs_end), visit);
}

// The `limit` smallest texts with the prefix.
class Smallest {
 public:
  Smallest(std::string_view prefix, size_t limit) : prefix_(prefix), limit_(limit) {}
  void Add(std::string_view text) {
    if (text.substr(0, prefix_.size()) != prefix_ || limit_ == 0) return;
    if (texts_.size() == limit_ && text >= *texts_.rbegin()) return;
    texts_.emplace(text);
    if (texts_.size() > limit_) texts_.erase(std::prev(texts_.end()));
  }
  std::vector<std::string> Take() { return {texts_.begin(), texts_.end()}; }

 private:
  std::string_view prefix_;
  size_t limit_;
  std::set<std::string, std::less<>> texts_;
};

}  // namespace

Result<std::vector<std::string>> DuckdbStore::Services(const std::string& tenant) {
  std::shared_lock layout_lock(layout_mutex_);
  const Snapshot snapshot = Look(tenant);
  std::set<std::string, std::less<>> out;
  const auto add = [&](const EventBatch& b) {
    for (const Process& p : b.processes) {
      const std::string_view name = b.str(p.service);
      if (!name.empty() && out.find(name) == out.end()) out.emplace(name);
    }
  };
  for (const auto& batch : snapshot.pending) add(*batch);
  for (const auto& segment : snapshot.segments) {
    WF_ASSIGN(const auto dictionary, DictionaryOf(*segment));
    add(dictionary->base);
  }
  return std::vector<std::string>(out.begin(), out.end());
}

Result<std::vector<Store::Operation>> DuckdbStore::Operations(const std::string& tenant,
                                                              const std::string& service) {
  std::shared_lock layout_lock(layout_mutex_);
  const Snapshot snapshot = Look(tenant);
  std::set<Operation> out;
  for (const auto& batch : snapshot.pending) {
    const uint32_t code = batch->strings.Find(service);
    if (code == UINT32_MAX) continue;
    std::set<std::pair<uint32_t, SpanKind>> seen;
    for (size_t row = 0; row < batch->size(); ++row) {
      if (batch->processes[batch->process[row]].service != code ||
          batch->type[row] != EventType::kSpan)
        continue;
      if (seen.insert({batch->name[row], batch->kind[row]}).second) {
        out.insert({std::string(batch->str(batch->name[row])), batch->kind[row]});
      }
    }
  }
  for (const auto& segment : snapshot.segments) {
    WF_ASSIGN(const auto dictionary, DictionaryOf(*segment));
    const EventBatch& base = dictionary->base;
    for (const Shape& shape : dictionary->shapes) {
      if (shape.type != static_cast<uint8_t>(EventType::kSpan)) continue;
      if (base.str(base.processes[shape.process].service) != service) continue;
      out.insert({std::string(base.str(shape.name)), static_cast<SpanKind>(shape.kind)});
    }
  }
  return std::vector<Operation>(out.begin(), out.end());
}

Result<std::vector<std::string>> DuckdbStore::AttributeKeys(const std::string& tenant,
                                                            std::string_view prefix, size_t limit) {
  std::shared_lock layout_lock(layout_mutex_);
  const Snapshot snapshot = Look(tenant);
  Smallest out(prefix, limit);
  const auto add_codes = [&](const EventBatch& b, const std::set<uint32_t>& codes) {
    for (uint32_t code : codes) out.Add(b.str(code));
  };
  for (const auto& batch : snapshot.pending) {
    std::set<uint32_t> codes;
    const auto note = [&](uint32_t key, const Value&) { codes.insert(key); };
    ForEachShared(*batch, note);
    for (size_t row = 0; row < batch->size(); ++row) ForEachAttribute(batch->attrs(row), note);
    add_codes(*batch, codes);
  }
  for (const auto& segment : snapshot.segments) {
    WF_ASSIGN(const auto dictionary, DictionaryOf(*segment));
    std::set<uint32_t> codes(dictionary->loose_keys.begin(), dictionary->loose_keys.end());
    ForEachShared(dictionary->base, [&](uint32_t key, const Value&) { codes.insert(key); });
    for (const Layout& layout : dictionary->layouts) {
      for (const LayoutEntry& entry : layout) codes.insert(entry.key);
    }
    add_codes(dictionary->base, codes);
  }
  return out.Take();
}

Result<std::vector<std::string>> DuckdbStore::AttributeValues(const std::string& tenant,
                                                              const std::string& key,
                                                              std::string_view prefix,
                                                              size_t limit) {
  std::shared_lock layout_lock(layout_mutex_);
  const Snapshot snapshot = Look(tenant);
  Smallest out(prefix, limit);
  const auto add_from = [&](std::string_view packed, uint32_t code) {
    ForEachAttribute(packed, [&](uint32_t at, const Value& value) {
      if (at == code) out.Add(value.type == ValueType::kString ? value.text : ValueText(value));
    });
  };
  const auto add_shared = [&](const EventBatch& b, uint32_t code) {
    for (const Process& p : b.processes) add_from(b.Slice(p.attrs_begin, p.attrs_end), code);
    for (const Scope& s : b.scopes) add_from(b.Slice(s.attrs_begin, s.attrs_end), code);
  };
  for (const auto& batch : snapshot.pending) {
    const uint32_t code = batch->strings.Find(key);
    if (code == UINT32_MAX) continue;
    add_shared(*batch, code);
    for (size_t row = 0; row < batch->size(); ++row) add_from(batch->attrs(row), code);
  }
  for (const auto& segment : snapshot.segments) {
    WF_ASSIGN(const auto dictionary, DictionaryOf(*segment));
    const uint32_t code = dictionary->base.strings.Find(key);
    if (code == UINT32_MAX) continue;
    add_shared(dictionary->base, code);
    // Layouts by the column that holds the key's value there.
    std::map<std::pair<uint8_t, uint8_t>, std::set<uint32_t>> layouts_of;
    const bool loose = std::find(dictionary->loose_keys.begin(), dictionary->loose_keys.end(),
                                 code) != dictionary->loose_keys.end();
    if (loose) layouts_of[{kNoColumn, 0}].insert(0);
    for (uint32_t l = 0; l < dictionary->layouts.size(); ++l) {
      for (const LayoutEntry& entry : dictionary->layouts[l]) {
        if (entry.key == code) layouts_of[{entry.column, entry.type}].insert(l);
      }
    }
    WF_ASSIGN(auto connection, Borrow());
    for (const auto& [where, layouts] : layouts_of) {
      std::vector<uint32_t> shapes;
      for (uint32_t i = 0; i < dictionary->shapes.size(); ++i) {
        if (layouts.count(dictionary->shapes[i].layout) != 0) shapes.push_back(i);
      }
      const auto [column, type] = where;
      if (column != kNoColumn) {
        const bool text = type == static_cast<uint8_t>(ValueType::kString);
        const std::string& name = EventTable()[column].name;
        // Texts are compared as bytes by both sides, so the smallest there are the smallest here.
        WF_ASSIGN(
            auto result,
            connection->Query(
                fmt::format(
                    "SELECT DISTINCT {0} FROM {1} WHERE shape IN ({2}) {3}", name, segment->table(),
                    fmt::join(shapes, ","),
                    text ? fmt::format("AND {0} >= ? ORDER BY {0} LIMIT {1}", name, limit) : ""),
                text ? std::vector<duck::Param>{duck::Param(prefix)} : std::vector<duck::Param>{}));
        while (duck::Chunk chunk = result.Next()) {
          for (size_t i = 0; i < chunk.size(); ++i) {
            if (text) {
              out.Add(chunk.Text(0, i));
              continue;
            }
            const int64_t bits = chunk.Column<int64_t>(0)[i];
            std::string made;
            if (type == static_cast<uint8_t>(StoredType::kHex16)) {
              AppendHex16(static_cast<uint64_t>(bits), made);
            } else {
              Value value;
              value.type = static_cast<ValueType>(type);
              value.integer = bits;
              value.boolean = bits != 0;
              std::memcpy(&value.number, &bits, 8);
              made = ValueText(value);
            }
            out.Add(made);
          }
        }
        continue;
      }
      WF_ASSIGN(auto result,
                connection->Query(fmt::format("SELECT shape, more FROM {} WHERE shape IN ({})",
                                              segment->table(), fmt::join(shapes, ","))));
      while (duck::Chunk chunk = result.Next()) {
        for (size_t i = 0; i < chunk.size(); ++i) {
          const uint32_t layout_number = dictionary->shapes[chunk.Column<uint32_t>(0)[i]].layout;
          const std::string_view more = chunk.Text(1, i);
          if (layout_number == 0) {
            add_from(more, code);
            continue;
          }
          ArrayReader values(more);
          Value value;
          for (const LayoutEntry& entry : dictionary->layouts[layout_number]) {
            if (entry.column != kNoColumn) continue;
            if (!values.Next(value)) break;
            if (entry.key == code) out.Add(ValueText(value));
          }
        }
      }
    }
  }
  return out.Take();
}

Result<std::vector<ClockExchange>> DuckdbStore::ReadExchanges(const std::string& tenant,
                                                              TimeRange time) {
  std::shared_lock layout_lock(layout_mutex_);
  const Snapshot snapshot = Look(tenant);
  std::map<std::tuple<std::string, std::string, Nanos>, std::pair<Nanos, int64_t>> least;
  const auto add = [&](const std::vector<ClockExchange>& exchanges) {
    for (const ClockExchange& e : exchanges) {
      if (SaturatingAdd(e.window_ns, kClockWindow) <= time.from || e.window_ns >= time.until)
        continue;
      const auto [it, added] =
          least.try_emplace({e.from_host, e.to_host, e.window_ns}, e.least_ns, 0);
      it->second.first = std::min(it->second.first, e.least_ns);
      it->second.second += e.count;
    }
  };
  for (const auto& segment : snapshot.segments) {
    if (SaturatingAdd(segment->max_end, kClockWindow) <= time.from ||
        SaturatingSub(segment->min_start, kClockWindow) >= time.until) {
      continue;
    }
    WF_ASSIGN(const auto dictionary, DictionaryOf(*segment));
    add(dictionary->exchanges);
  }
  if (!snapshot.pending.empty()) {
    // As if the pending rows were written now.
    std::vector<RowKey> rows;
    for (uint32_t i = 0; i < snapshot.pending.size(); ++i) {
      for (uint32_t row = 0; row < snapshot.pending[i]->size(); ++row)
        rows.push_back(KeyOf(*snapshot.pending[i], i, row));
    }
    SortAndRemoveDoubles(snapshot.pending, rows);
    SlotHomes homes;
    add(SegmentWriter(snapshot.pending, rows, homes).dictionary().exchanges);
  }
  std::vector<ClockExchange> out;
  for (const auto& [key, value] : least) {
    out.push_back(
        {std::get<0>(key), std::get<1>(key), std::get<2>(key), value.first, value.second});
  }
  return out;
}

Result<StoreStatus> DuckdbStore::ReadStatus(const std::string& tenant) {
  std::shared_lock layout_lock(layout_mutex_);
  const Snapshot snapshot = Look(tenant);
  StoreStatus out;
  std::unordered_set<uint64_t> alive;
  bool any = false;
  const auto span_times = [&](Nanos first, Nanos last) {
    out.oldest_ns = any ? std::min(out.oldest_ns, first) : first;
    out.newest_ns = any ? std::max(out.newest_ns, last) : last;
    any = true;
  };
  for (const auto& segment : snapshot.segments) {
    out.spans += static_cast<int64_t>(segment->spans);
    out.events += static_cast<int64_t>(segment->rows);
    out.traces += static_cast<int64_t>(segment->traces);
    for (const ContinuedTrace& trace : segment->continued)
      out.traces -= alive.count(trace.earlier_segment) != 0 ? 1 : 0;
    alive.insert(segment->id);
    span_times(segment->min_start, segment->max_start);
  }
  // Pending rows, without doubles of each other and of stored ones.
  std::vector<RowKey> rows;
  for (uint32_t i = 0; i < snapshot.pending.size(); ++i) {
    for (uint32_t row = 0; row < snapshot.pending[i]->size(); ++row)
      rows.push_back(KeyOf(*snapshot.pending[i], i, row));
  }
  SortAndRemoveDoubles(snapshot.pending, rows);
  out.pending_rows = static_cast<int64_t>(rows.size());
  std::vector<TraceId> maybe;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool span = snapshot.pending[rows[i].batch]->type[rows[i].row] == EventType::kSpan;
    span_times(rows[i].start_ns, rows[i].start_ns);
    ++out.events;
    out.spans += span ? 1 : 0;
    if (i != 0 && rows[i].SameTrace(rows[i - 1])) continue;
    ++out.traces;
    const TraceId id = rows[i].trace_id();
    if (std::any_of(snapshot.segments.begin(), snapshot.segments.end(),
                    [&](const auto& s) { return s->filter.MayHave(id); })) {
      maybe.push_back(id);
    }
  }
  for (size_t at = 0; at < maybe.size(); at += 2000) {
    const std::vector<TraceId> ids(
        maybe.begin() + static_cast<ptrdiff_t>(at),
        maybe.begin() + static_cast<ptrdiff_t>(std::min(maybe.size(), at + 2000)));
    BatchList stored;
    WF_TRY(ReadStored(tenant, ids, snapshot.segments, stored, nullptr));
    std::unordered_set<TraceId> known;
    std::set<std::pair<uint32_t, uint32_t>> doubles;
    for (const auto& batch : stored) {
      for (uint32_t row = 0; row < batch->size(); ++row) {
        const TraceId id = batch->trace_id(row);
        known.insert(id);
        const auto [first, last] =
            std::equal_range(rows.begin(), rows.end(), KeyOf(*batch, 0, row), KeyBefore);
        for (auto it = first; it != last; ++it) {
          if (ContentHash(*snapshot.pending[it->batch], it->row) == ContentHash(*batch, row) &&
              doubles.insert({it->batch, it->row}).second) {
            --out.events;
            out.spans -= batch->type[row] == EventType::kSpan ? 1 : 0;
          }
        }
      }
    }
    out.traces -= static_cast<int64_t>(known.size());
  }
  out.disk_bytes = DirectoryBytes(directory_);
  WF_TRY(CountSideTables(tenant, out));
  WF_ASSIGN(const auto datasets, datasets_.Read(tenant));
  for (const DatasetStatus& dataset : datasets) {
    out.dataset_rows += dataset.rows;
    out.dataset_bytes += dataset.bytes;
  }
  std::lock_guard lock(mutex_);
  out.counters = Counters();
  return out;
}

}  // namespace wf::store::duckdb
