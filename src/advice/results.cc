#include "advice/results.h"

#include <algorithm>
#include <utility>

#include "base/hash_inline.h"

namespace wf::advice {
namespace {

constexpr uint8_t kResultsVersion = 1;

bool SameKeys(const Value* a, const Value* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!SameKey(a[i], b[i])) return false;
  }
  return true;
}

uint64_t NextKeyHash(uint64_t hash, uint64_t key, size_t index) {
  return MixBits(hash ^ key) + index;
}

uint64_t HashKeys(const Value* columns, size_t count) {
  uint64_t hash = 0;
  for (size_t i = 0; i < count; ++i) hash = NextKeyHash(hash, HashKey(columns[i]), i);
  return hash;
}

// Which of two equal keys is shown must not depend on which came first.
void ShowKeys(Value* shown, const Value* other, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!Identical(shown[i], other[i])) shown[i] = ShownKey(shown[i], other[i]);
  }
}

bool RowBefore(const Tuple& a, const Tuple& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int order = Compare(a[i], b[i]); order != 0) return order < 0;
  }
  return a.size() < b.size();
}

// An ungrouped row is shown as it is; 1 and 1.0 are then two rows, and sort in a fixed order.
bool RowBeforeExactly(const Tuple& a, const Tuple& b) {
  if (RowBefore(a, b)) return true;
  if (RowBefore(b, a)) return false;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].index() != b[i].index()) return a[i].index() < b[i].index();
  }
  return false;
}

Emit Nothing() { return {}; }

}  // namespace

Rows GroupRows(const Rows& rows) {
  Rows groups(rows.width(), rows.state_width());
  RowIndex index;
  for (size_t row = 0; row < rows.size(); ++row) {
    const Value* columns = rows.columns(row);
    const uint64_t hash = HashKeys(columns, rows.width());
    const size_t same = index.Find(
        hash, [&](size_t g) { return SameKeys(groups.columns(g), columns, rows.width()); });
    if (same != RowIndex::npos) {
      ShowKeys(groups.columns(same), columns, rows.width());
      groups.FoldInto(same, rows.weight(row), rows.states(row));
    } else {
      index.Insert(hash, groups.size());
      groups.AddRow(rows, row);
    }
  }
  return groups;
}

Results::Results(const Program& program, size_t max_groups)
    : program_(&program), emit_(EmitOf(program)), max_groups_(max_groups) {
  static const Emit kNothing = Nothing();
  if (emit_ == nullptr) emit_ = &kNothing;
  grouped_ = emit_->grouped;
  groups_ = advice::Rows(emit_->grouping.columns.size(), emit_->grouping.aggregates.size());
}

bool Results::SameGroup(size_t group, const advice::Rows& rows, size_t row) const {
  return grouped_ ? SameKeys(groups_.columns(group), rows.columns(row), rows.width())
                  : IdenticalColumns(groups_.columns(group), rows.columns(row), rows.width());
}

uint64_t Results::Hash(const advice::Rows& rows, size_t row) const {
  return grouped_ ? HashKeys(rows.columns(row), rows.width())
                  : HashColumns(rows.columns(row), rows.width());
}

void Results::Add(const advice::Rows& rows) {
  if (rows.width() != groups_.width() || rows.state_width() != groups_.state_width()) return;
  tuples_ += rows.size();
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint64_t hash = Hash(rows, row);
    const size_t same = index_.Find(hash, [&](size_t g) { return SameGroup(g, rows, row); });
    if (same != RowIndex::npos) {
      if (grouped_) ShowKeys(groups_.columns(same), rows.columns(row), rows.width());
      groups_.FoldInto(same, rows.weight(row), rows.states(row));
    } else if (groups_.size() >= max_groups_) {
      ++lost_;
    } else {
      index_.Insert(hash, groups_.size());
      groups_.AddRow(rows, row);
    }
  }
}

// Most keys are texts, and their groups are known: that much is done here, without a call.
[[gnu::hot]] uint64_t Results::Hash(const Cell* keys) const {
  const size_t width = groups_.width();
  if (!grouped_) {
    uint64_t hash = width;
    for (size_t i = 0; i < width; ++i) hash = NextColumnHash(hash, keys[i]);
    return hash;
  }
  uint64_t hash = 0;
  for (size_t i = 0; i < width; ++i) {
    const bool text = keys[i].type == Cell::Type::kText;
    hash = NextKeyHash(hash, text ? HashBytesHere(keys[i].view(), kTextHashSeed) : HashKey(keys[i]),
                       i);
  }
  return hash;
}

[[gnu::hot]] bool Results::SameGroup(size_t group, const Cell* keys) const {
  const Value* const shown = groups_.columns(group);
  for (size_t i = 0; i < groups_.width(); ++i) {
    if (keys[i].type != Cell::Type::kText) {
      if (grouped_ ? !SameKey(shown[i], keys[i]) : !Identical(shown[i], keys[i])) return false;
      continue;
    }
    const auto* const text = std::get_if<std::string>(&shown[i]);
    if (text == nullptr || text->size() != keys[i].size ||
        !SameBytes(text->data(), keys[i].text, keys[i].size)) {
      return false;
    }
  }
  return true;
}

[[gnu::hot]] AggregateState* Results::Fold(const Cell* keys, uint64_t weight) {
  ++tuples_;
  const uint64_t hash = Hash(keys);
  const size_t group = index_.Find(hash, [&](size_t known) { return SameGroup(known, keys); });
  if (group == RowIndex::npos) return NewGroup(keys, weight, hash);
  if (grouped_) {
    for (size_t i = 0; i < groups_.width(); ++i) {
      if (keys[i].type == Cell::Type::kText) continue;  // nothing else is the same key
      Value& shown = groups_.columns(group)[i];
      if (!Identical(shown, keys[i])) shown = Value(ShownKey(shown, keys[i].ToValue()));
    }
  }
  groups_.AddWeight(group, weight);
  return groups_.states(group);
}

AggregateState* Results::NewGroup(const Cell* keys, uint64_t weight, uint64_t hash) {
  if (groups_.size() >= max_groups_) {
    ++lost_;
    return nullptr;
  }
  const size_t group = groups_.size();
  index_.Insert(hash, group);
  for (size_t i = 0; i < groups_.width(); ++i) {
    if (keys[i].type == Cell::Type::kText) {
      groups_.AddText(keys[i].view());
    } else {
      groups_.AddColumn(keys[i].ToValue());
    }
  }
  for (const AggregateInput& input : emit_->grouping.aggregates)
    groups_.NewState(input.aggregate.kind);
  groups_.EndRow(weight);
  return groups_.states(group);
}

std::string Results::Encode() const {
  std::string bytes;
  Writer out(bytes);
  out.Byte(kResultsVersion);
  out.Fixed64(program_->query);
  out.Varint(groups_.width());
  out.Varint(groups_.state_width());
  for (const AggregateInput& input : emit_->grouping.aggregates)
    out.Byte(static_cast<uint8_t>(input.aggregate.kind));
  out.Varint(tuples_);
  out.Varint(lost_);
  StringTable strings;
  groups_.Encode(0, groups_.size(), out, strings);
  out.Finish();
  return bytes;
}

bool Results::Merge(std::string_view bytes) {
  try {
    Reader in(bytes);
    if (in.Byte() != kResultsVersion || in.Fixed64() != program_->query) return false;
    if (in.Varint() != groups_.width() || in.Varint() != groups_.state_width()) return false;
    std::vector<Aggregate> aggregates;
    for (const AggregateInput& input : emit_->grouping.aggregates) {
      if (in.Byte() != static_cast<uint8_t>(input.aggregate.kind)) return false;
      aggregates.push_back(input.aggregate);
    }
    const uint64_t tuples = in.Varint();
    const uint64_t lost = in.Varint();
    StringReferences strings;
    advice::Rows rows(groups_.width(), groups_.state_width());
    if (!rows.Decode(in, strings, aggregates) || !in.Done()) return false;
    Add(rows);
    tuples_ = AddCounts(tuples_ - rows.size(), tuples);
    lost_ = AddCounts(lost_, lost);
    return true;
  } catch (...) {  // out of memory
    return false;
  }
}

void Results::Clear() {
  groups_.Clear();
  index_.Clear();
  tuples_ = 0;
  lost_ = 0;
}

std::vector<Tuple> Results::Rows(size_t max_rows) const {
  std::vector<Tuple> rows;
  Tuple tuple;
  for (size_t group = 0; group < groups_.size() && rows.size() < max_rows; ++group) {
    tuple.assign(groups_.columns(group), groups_.columns(group) + groups_.width());
    for (size_t i = 0; i < groups_.state_width(); ++i)
      tuple.push_back(groups_.states(group)[i].Finish(emit_->grouping.aggregates[i].aggregate));
    Tuple row;
    row.reserve(emit_->select.size());
    for (const Expression& column : emit_->select) row.push_back(Evaluate(column, tuple));
    const uint64_t room = max_rows - rows.size();
    const uint64_t copies = grouped_ ? 1 : std::min(groups_.weight(group), room);
    for (uint64_t i = 1; i < copies; ++i) rows.push_back(row);
    if (copies != 0) rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), RowBeforeExactly);
  return rows;
}

}  // namespace wf::advice
