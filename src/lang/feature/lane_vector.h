// LaneVector: the result of a node of a plan, for all lanes of its frame at once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lang/feature/feature_type.h"
#include "model/id_map.h"

namespace wf::feature {

// One value or element: entry i belongs to lane i. Many: those of lane i are the entries offsets[i] …
// offsets[i + 1]. Groups: offsets lead from lanes to groups, group_begin from groups to members. One of the
// value vectors is used: ints for bool and int, doubles, texts for text and stack.
struct LaneVector {
  Type type;
  size_t lanes = 0;
  std::vector<uint32_t> offsets;
  // many: 1 where the lane is null rather than empty; size 0: no lane is null.
  std::vector<uint8_t> null_lane;
  std::vector<uint32_t> items;  // elements (kNone: null), or the members of groups
  std::vector<uint8_t> valid;   // values: 0 where null
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  std::vector<std::string_view> texts;
  std::vector<uint32_t> group_begin;   // kGroups
  std::vector<std::string_view> keys;  // kGroups: of each group; kGroup: of each lane

  bool has_offsets() const { return !offsets.empty(); }
  // The number of entries: the lanes of a frame over this vector.
  size_t entries() const {
    if (type.shape == Shape::kGroups) return keys.size();
    return has_offsets() ? offsets.back() : lanes;
  }
  uint32_t begin(size_t lane) const {
    return has_offsets() ? offsets[lane] : static_cast<uint32_t>(lane);
  }
  uint32_t end(size_t lane) const {
    return has_offsets() ? offsets[lane + 1] : static_cast<uint32_t>(lane + 1);
  }
  bool is_null(size_t lane) const { return !null_lane.empty() && null_lane[lane] != 0; }
  void MarkNull(size_t lane) {
    if (null_lane.empty()) null_lane.resize(lanes, 0);
    null_lane[lane] = 1;
  }
  // Makes room for the values of `count` entries, all null.
  void ResizeValues(size_t count) {
    valid.assign(count, 0);
    switch (type.value) {
      case ColumnType::kBool:
      case ColumnType::kInt:
        ints.assign(count, 0);
        break;
      case ColumnType::kDouble:
        doubles.assign(count, 0);
        break;
      case ColumnType::kText:
      case ColumnType::kStack:
        texts.assign(count, {});
        break;
    }
  }
  void SetInt(size_t entry, int64_t value) {
    valid[entry] = 1;
    ints[entry] = value;
  }
  void SetDouble(size_t entry, double value) {
    valid[entry] = 1;
    doubles[entry] = value;
  }
  void SetText(size_t entry, std::string_view value) {
    valid[entry] = 1;
    texts[entry] = value;
  }
  double Number(size_t entry) const {
    return type.value == ColumnType::kDouble ? doubles[entry] : static_cast<double>(ints[entry]);
  }
  // Appends entry `from` of `other`, which has the same type; for values and elements.
  void AppendEntry(const LaneVector& other, size_t from) {
    if (!other.items.empty()) items.push_back(other.items[from]);
    if (!other.valid.empty()) valid.push_back(other.valid[from]);
    if (!other.ints.empty()) ints.push_back(other.ints[from]);
    if (!other.doubles.empty()) doubles.push_back(other.doubles[from]);
    if (!other.texts.empty()) texts.push_back(other.texts[from]);
  }
  void AppendNullEntry() {
    if (type.is_element()) {
      items.push_back(kNone);
      return;
    }
    valid.push_back(0);
    if (type.value == ColumnType::kDouble) {
      doubles.push_back(0);
    } else if (type.is_text()) {
      texts.emplace_back();
    } else {
      ints.push_back(0);
    }
  }
};

}  // namespace wf::feature
