// From many to one: First, Last, Nth, Count, Sum, Mean, Min, Max, Percentile, Distinct, List, Exists. Nulls among the
// values take no part, but hold their place for First, Last and Nth.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "lang/feature/plan_runner.h"

namespace wf::feature {
namespace {

// The values of [begin, end) that are there.
template <typename T>
void Present(const LaneVector& in, const std::vector<T>& values, uint32_t begin, uint32_t end,
             std::vector<T>& out) {
  out.clear();
  for (uint32_t i = begin; i < end; ++i) {
    if (in.valid[i]) out.push_back(values[i]);
  }
}

// Nearest rank: the smallest value that at least p percent of the values do not exceed.
template <typename T>
T PercentileOf(std::vector<T>& values, double percent) {
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(values.size()));
  const size_t at =
      std::clamp<size_t>(rank < 1 ? 0 : static_cast<size_t>(rank) - 1, 0, values.size() - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

template <typename T>
T Picked(Aggregation aggregation, std::vector<T>& values, double percent) {
  if (aggregation == Aggregation::kMin) return *std::min_element(values.begin(), values.end());
  if (aggregation == Aggregation::kMax) return *std::max_element(values.begin(), values.end());
  return PercentileOf(values, percent);
}

void AppendJsonText(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

// A list is one text, a JSON array: nothing in a value can be taken for a separator.
std::string ListText(const LaneVector& in, uint32_t begin, uint32_t end) {
  std::string out = "[";
  for (uint32_t i = begin; i < end; ++i) {
    if (!in.valid[i]) continue;
    if (out.size() > 1) out += ',';
    switch (in.type.value) {
      case ColumnType::kBool:
        out += in.ints[i] != 0 ? "true" : "false";
        break;
      case ColumnType::kInt:
        out += std::to_string(in.ints[i]);
        break;
      case ColumnType::kDouble:
        out += NumberText(in.doubles[i]);
        break;
      default:
        AppendJsonText(out, in.texts[i]);
        break;
    }
  }
  return out + "]";
}

}  // namespace

LaneVector PlanRunner::Aggregate(const Node& node) {
  const LaneVector& in = In(node, 0);
  const auto aggregation = static_cast<Aggregation>(node.sub);
  LaneVector out;
  out.type = node.type;
  out.lanes = in.lanes;
  if (!Charge(in.lanes + in.entries())) return out;
  out.ResizeValues(in.lanes);
  const double percent = aggregation == Aggregation::kPercentile
                             ? plan_.constants[static_cast<size_t>(node.imm)].number
                             : 0;
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  std::vector<std::string_view> texts;
  for (size_t lane = 0; lane < in.lanes; ++lane) {
    if (in.is_null(lane)) continue;
    const uint32_t begin = in.begin(lane), end = in.end(lane);
    uint32_t present = end - begin;
    if (in.type.is_value()) {
      present = static_cast<uint32_t>(
          std::count(in.valid.begin() + begin, in.valid.begin() + end, uint8_t{1}));
    }
    if (aggregation == Aggregation::kCount) {
      out.SetInt(lane, present);
      continue;
    }
    if (aggregation == Aggregation::kSum) {
      if (node.type.value == ColumnType::kInt) {
        int64_t sum = 0;
        for (uint32_t i = begin; i < end; ++i) {
          if (in.valid[i]) sum = SaturatingAdd(sum, in.ints[i]);
        }
        out.SetInt(lane, sum);
      } else {
        double sum = 0;
        for (uint32_t i = begin; i < end; ++i) {
          if (in.valid[i]) sum += in.doubles[i];
        }
        if (std::isfinite(sum)) out.SetDouble(lane, sum);
      }
      continue;
    }
    if (present == 0) continue;  // of nothing: null
    switch (aggregation) {
      case Aggregation::kDistinctCount:
        out.SetInt(lane, present);
        break;
      case Aggregation::kMean: {
        double sum = 0;
        for (uint32_t i = begin; i < end; ++i) {
          if (in.valid[i]) sum += in.Number(i);
        }
        if (std::isfinite(sum)) out.SetDouble(lane, sum / present);
        break;
      }
      case Aggregation::kList: {
        std::string text = ListText(in, begin, end);
        if (!Charge(text.size() / 8)) return out;
        out.SetText(lane, view_.Keep(std::move(text)));
        break;
      }
      default:  // Min, Max, Percentile
        if (in.type.is_text()) {
          Present(in, in.texts, begin, end, texts);
          out.SetText(lane, Picked(aggregation, texts, percent));
        } else if (in.type.value == ColumnType::kDouble) {
          Present(in, in.doubles, begin, end, doubles);
          out.SetDouble(lane, Picked(aggregation, doubles, percent));
        } else {
          Present(in, in.ints, begin, end, ints);
          out.SetInt(lane, Picked(aggregation, ints, percent));
        }
    }
  }
  return out;
}

LaneVector PlanRunner::Nth(const Node& node) {
  const LaneVector& in = In(node, 0);
  LaneVector out;
  out.type = node.type;
  out.lanes = in.lanes;
  const bool groups = in.type.shape == Shape::kGroups;
  if (groups) out.offsets.push_back(0);
  if (!Charge(in.lanes)) return out;
  for (size_t lane = 0; lane < in.lanes; ++lane) {
    const int64_t count = in.end(lane) - in.begin(lane);
    const int64_t nth = node.imm < 0 ? count : node.imm;
    const bool there = !in.is_null(lane) && nth >= 1 && nth <= count;
    const size_t entry = in.begin(lane) + static_cast<size_t>(nth - 1);
    if (groups) {
      out.keys.push_back(there ? in.keys[entry] : std::string_view());
      if (there) {
        if (!Charge(in.group_begin[entry + 1] - in.group_begin[entry])) return out;
        out.items.insert(out.items.end(), in.items.begin() + in.group_begin[entry],
                         in.items.begin() + in.group_begin[entry + 1]);
      } else {
        out.MarkNull(lane);
      }
      out.offsets.push_back(static_cast<uint32_t>(out.items.size()));
    } else if (there) {
      out.AppendEntry(in, entry);
    } else {
      out.AppendNullEntry();
    }
  }
  return out;
}

LaneVector PlanRunner::Exists(const Node& node) {
  const LaneVector& in = In(node, 0);
  LaneVector out;
  out.type = node.type;
  out.lanes = in.lanes;
  if (!Charge(in.lanes)) return out;
  out.ResizeValues(in.lanes);
  for (size_t lane = 0; lane < in.lanes; ++lane) {
    bool exists = false;
    for (uint32_t i = in.begin(lane); i < in.end(lane) && !exists; ++i) {
      exists = in.type.is_value()                ? in.valid[i] != 0
               : in.type.shape == Shape::kGroups ? true
                                                 : in.items[i] != kNone;
    }
    out.SetInt(lane, exists && !in.is_null(lane) ? 1 : 0);
  }
  return out;
}

LaneVector PlanRunner::Distinct(const Node& node) {
  const LaneVector& in = In(node, 0);
  if (!Charge(2 * in.entries() + in.lanes)) return {};
  if (!in.type.is_value()) return in;  // elements are distinct already
  LaneVector out;
  out.type = node.type;
  out.lanes = in.lanes;
  out.null_lane = in.null_lane;
  out.offsets.push_back(0);
  std::unordered_set<int64_t> ints;
  std::unordered_set<double> doubles;
  std::unordered_set<std::string_view> texts;
  for (size_t lane = 0; lane < in.lanes; ++lane) {
    ints.clear();
    doubles.clear();
    texts.clear();
    for (uint32_t i = in.begin(lane); i < in.end(lane); ++i) {
      if (!in.valid[i]) continue;
      const bool is_new = in.type.is_text() ? texts.insert(in.texts[i]).second
                          : in.type.value == ColumnType::kDouble
                              ? doubles.insert(in.doubles[i]).second
                              : ints.insert(in.ints[i]).second;
      if (is_new) out.AppendEntry(in, i);
    }
    out.offsets.push_back(static_cast<uint32_t>(out.valid.size()));
  }
  return out;
}

}  // namespace wf::feature
