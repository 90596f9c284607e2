// Frames: from the items of a vector to the lanes over which a body runs, and back.
#include <unordered_map>

#include "lang/feature/plan_runner.h"

namespace wf::feature {

const std::vector<uint32_t>& PlanRunner::ParentLanes(int frame) {
  std::vector<uint32_t>& lanes = parent_lanes_[static_cast<size_t>(frame)];
  const LaneVector& source = at(plan_.frames[static_cast<size_t>(frame)].source);
  if (!lanes.empty() || source.entries() == 0) return lanes;
  lanes.resize(source.entries());
  for (size_t lane = 0; lane < source.lanes; ++lane) {
    for (uint32_t i = source.begin(lane); i < source.end(lane); ++i)
      lanes[i] = static_cast<uint32_t>(lane);
  }
  return lanes;
}

LaneVector PlanRunner::It(const Node& node) {
  const LaneVector& source = at(plan_.frames[static_cast<size_t>(node.frame)].source);
  LaneVector out;
  out.lanes = source.entries();
  if (!Charge(out.lanes)) return out;
  out.items = source.items;
  if (source.type.shape == Shape::kGroups) {
    out.offsets = source.group_begin;
    out.keys = source.keys;
    return out;
  }
  out.valid = source.valid;
  out.ints = source.ints;
  out.doubles = source.doubles;
  out.texts = source.texts;
  return out;
}

LaneVector PlanRunner::GatherLanes(const LaneVector& from, const std::vector<uint32_t>& lanes) {
  LaneVector out;
  out.type = from.type;
  out.lanes = lanes.size();
  if (from.has_offsets()) {
    out.offsets.reserve(lanes.size() + 1);
    out.offsets.push_back(0);
  }
  if (from.type.shape == Shape::kGroups) out.group_begin.push_back(0);
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    const uint32_t source = lanes[lane];
    if (!Charge(1 + from.end(source) - from.begin(source))) return out;
    if (from.is_null(source)) out.MarkNull(lane);
    for (uint32_t i = from.begin(source); i < from.end(source); ++i) {
      if (from.type.shape == Shape::kGroups) {
        out.keys.push_back(from.keys[i]);
        if (!Charge(from.group_begin[i + 1] - from.group_begin[i])) return out;
        out.items.insert(out.items.end(), from.items.begin() + from.group_begin[i],
                         from.items.begin() + from.group_begin[i + 1]);
        out.group_begin.push_back(static_cast<uint32_t>(out.items.size()));
      } else {
        out.AppendEntry(from, i);
      }
    }
    if (from.type.shape == Shape::kGroup) out.keys.push_back(from.keys[source]);
    if (from.has_offsets()) {
      const uint32_t count = from.end(source) - from.begin(source);
      out.offsets.push_back(out.offsets.back() + count);
    }
  }
  return out;
}

LaneVector PlanRunner::Broadcast(const Node& node) {
  const int home = plan_.nodes[static_cast<size_t>(node.in[0])].frame;
  std::vector<uint32_t> lanes(Lanes(node.frame));
  if (!Charge(lanes.size())) return {};
  for (size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] = static_cast<uint32_t>(lane);
  for (int frame = node.frame; frame != home;
       frame = plan_.frames[static_cast<size_t>(frame)].parent) {
    const std::vector<uint32_t>& up = ParentLanes(frame);
    for (uint32_t& lane : lanes) lane = up[lane];
  }
  return GatherLanes(In(node, 0), lanes);
}

LaneVector PlanRunner::KeepEntries(const LaneVector& from, const std::vector<uint8_t>& keep) {
  LaneVector out;
  out.type = from.type;
  out.lanes = from.lanes;
  out.null_lane = from.null_lane;
  if (!Charge(from.entries())) return out;
  if (!from.has_offsets()) {
    for (size_t lane = 0; lane < from.lanes; ++lane) {
      if (keep[lane])
        out.AppendEntry(from, lane);
      else
        out.AppendNullEntry();
    }
    return out;
  }
  out.offsets.reserve(from.offsets.size());
  out.offsets.push_back(0);
  const bool groups = from.type.shape == Shape::kGroups;
  if (groups) out.group_begin.push_back(0);
  uint32_t kept = 0;
  for (size_t lane = 0; lane < from.lanes; ++lane) {
    for (uint32_t i = from.begin(lane); i < from.end(lane); ++i) {
      if (!keep[i]) continue;
      ++kept;
      if (groups) {
        out.keys.push_back(from.keys[i]);
        if (!Charge(from.group_begin[i + 1] - from.group_begin[i])) return out;
        out.items.insert(out.items.end(), from.items.begin() + from.group_begin[i],
                         from.items.begin() + from.group_begin[i + 1]);
        out.group_begin.push_back(static_cast<uint32_t>(out.items.size()));
      } else {
        out.AppendEntry(from, i);
      }
    }
    out.offsets.push_back(kept);
  }
  if (from.type.shape == Shape::kGroup) out.keys = from.keys;
  return out;
}

LaneVector PlanRunner::Select(const Node& node) {
  const LaneVector& mask = In(node, 1);
  std::vector<uint8_t> keep(mask.lanes);
  for (size_t i = 0; i < mask.lanes; ++i) keep[i] = mask.valid[i] && mask.ints[i] != 0;
  return KeepEntries(In(node, 0), keep);
}

LaneVector PlanRunner::Collect(const Node& node) {
  const LaneVector& source = In(node, 0);
  const LaneVector& body = In(node, 1);
  if (!Charge(body.entries() + body.lanes)) return {};
  if (!source.has_offsets()) {  // of one: one; of nothing: nothing, whatever the body says
    LaneVector out = body;
    for (size_t lane = 0; lane < source.lanes; ++lane) {
      const bool present =
          source.type.is_element() ? source.items[lane] != kNone : source.valid[lane] != 0;
      if (present) continue;
      if (out.has_offsets()) {
        out.MarkNull(lane);
      } else if (out.type.is_element()) {
        out.items[lane] = kNone;
      } else {
        out.valid[lane] = 0;
      }
    }
    return out;
  }
  LaneVector out = Shaped(node.type, source);
  if (body.type.shape == Shape::kValue) {
    out.valid = body.valid;
    out.ints = body.ints;
    out.doubles = body.doubles;
    out.texts = body.texts;
    return out;
  }
  out.offsets.assign(1, 0);
  uint32_t count = 0;
  for (size_t lane = 0; lane < source.lanes; ++lane) {
    const uint32_t first = static_cast<uint32_t>(out.items.size());
    for (uint32_t i = source.begin(lane); i < source.end(lane); ++i) {
      for (uint32_t entry = body.begin(i); entry < body.end(i); ++entry) {
        if (!body.items.empty() && body.items[entry] == kNone) continue;
        out.AppendEntry(body, entry);
        ++count;
      }
    }
    if (node.type.shape == Shape::kElements) {
      uint32_t* end = out.items.data() + out.items.size();
      view_.Order(node.type.element, out.items.data() + first, end);
      out.items.resize(static_cast<size_t>(end - out.items.data()));
      count = static_cast<uint32_t>(out.items.size());
    }
    out.offsets.push_back(count);
  }
  return out;
}

LaneVector PlanRunner::GroupBy(const Node& node) {
  const LaneVector& source = In(node, 0);
  const LaneVector& keys = In(node, 1);
  const auto key_text = [&](uint32_t i) -> std::string_view {
    if (keys.type.is_text()) return keys.texts[i];
    if (keys.type.is_bool()) return keys.ints[i] != 0 ? "true" : "false";
    return view_.Keep(keys.type.value == ColumnType::kInt ? std::to_string(keys.ints[i])
                                                          : NumberText(keys.doubles[i]));
  };
  LaneVector out;
  out.lanes = source.lanes;
  out.null_lane = source.null_lane;
  out.offsets.push_back(0);
  out.group_begin.push_back(0);
  if (!Charge(2 * source.entries())) return out;
  std::unordered_map<std::string_view, uint32_t> group_of;
  std::vector<std::vector<uint32_t>> members;
  for (size_t lane = 0; lane < source.lanes; ++lane) {
    group_of.clear();
    members.clear();
    for (uint32_t i = source.begin(lane); i < source.end(lane); ++i) {
      if (!keys.valid[i]) continue;  // without the key: in no group
      const std::string_view key = key_text(i);
      const auto [at, is_new] = group_of.emplace(key, static_cast<uint32_t>(members.size()));
      if (is_new) {
        members.emplace_back();
        out.keys.push_back(key);
      }
      members[at->second].push_back(source.items[i]);
    }
    for (const std::vector<uint32_t>& group : members) {
      out.items.insert(out.items.end(), group.begin(), group.end());
      out.group_begin.push_back(static_cast<uint32_t>(out.items.size()));
    }
    out.offsets.push_back(static_cast<uint32_t>(out.keys.size()));
  }
  return out;
}

}  // namespace wf::feature
